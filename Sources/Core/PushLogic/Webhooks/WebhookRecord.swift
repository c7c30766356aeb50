/// The events of one request to the receiver of a webhook.
///
/// The bounds and the digest of its body are stored before it is sent. A request under the same id therefore always has
/// the same body: if the body cannot be made again, because retention or other prefixes have changed it, its events are
/// sent under another id.
package struct WebhookBatch: Sendable, Equatable {
    /// The `webhook-id`.
    package let id: String
    /// Its events have greater numbers.
    package let after: UInt64
    /// The number of its last event.
    package let through: UInt64
    /// The SHA-256 of its body.
    package let digest: [UInt8]

    package init(id: String, after: UInt64, through: UInt64, digest: [UInt8]) {
        self.id = id
        self.after = after
        self.through = through
        self.digest = digest
    }
}

/// What is kept of a webhook across restarts.
package struct WebhookRecord: Sendable, Equatable {
    package enum Standing: String, Sendable, CaseIterable {
        case active
        /// An operator has paused it.
        case paused
        /// The receiver has answered 410. An operator must resume it.
        case disabled
        /// The record could not be read, so that nobody knows what the receiver has had. An operator must resume it.
        case damaged
    }

    /// The number of the last event that needs no delivery any more.
    package var position: UInt64
    package var standing: Standing
    /// The batch whose delivery is not known to have succeeded.
    package var batch: WebhookBatch?

    /// Creates the record of a webhook that begins after an event.
    package init(after position: UInt64, standing: Standing = .active) {
        self.position = position
        self.standing = standing
    }
}
