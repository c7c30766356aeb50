package import PushModel

/// The answer to a request that cancelled a message, now or before.
package struct CancelledAnswer: JSONAnswer, Equatable {
    package let id: String
    package let status: String
    package let sent: UInt64
    package let cancelled: UInt64
    /// The statuses of the members of a family, by app; nil for a single app.
    package let apps: [String: String]?

    package init(id: String, counts: CancelCounts, apps: [String: String]? = nil) {
        self.apps = apps
        self.id = id
        status = "cancelled"
        (sent, cancelled) = (counts.sent, counts.cancelled)
    }

    package enum CodingKeys: String, CodingKey {
        case status, sent, cancelled, apps
        case id = "message_id"
    }

    package static var about: [String: String] {
        [
            "sent": "The deliveries that had gone out.", "cancelled": "The deliveries that are not sent.",
            "apps": "For a family: the status of each member, which is cancelled, too_late or unknown_message.",
        ]
    }
}
