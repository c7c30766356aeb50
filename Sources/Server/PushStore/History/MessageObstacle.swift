package import PushTime

/// Why an accepted message has not gone out, or not to all of its devices.
package struct MessageObstacle: Codable, Sendable, Equatable {
    package enum Code: String, Codable, Sendable, CaseIterable {
        /// Its time has not come.
        case scheduled
        /// An operator has paused the app.
        case paused
        /// The ledger cannot write, or the right to send has run out.
        case ledger
        /// The configuration does not have the app any more.
        case appRemoved = "app_removed"
        /// The registry cannot look up its devices.
        case registry
        /// No connection accepts deliveries, or sending is held back after failures of the push service.
        case connection
        /// Deliveries were deferred, and wait for another attempt.
        case retry
        /// Deliveries are at the push service, which has not answered.
        case unanswered
        /// Other messages of the app come first.
        case queued
        /// Its audience has no active device.
        case noDevices = "no_devices"
        /// It was cancelled before its devices were looked up.
        case cancelled
    }

    package var code: Code
    /// The reason as a sentence for people, without a period.
    package var detail: String
    /// Since when; left out if it is not known.
    package var since: WallTime?
    /// When the next attempt is; left out if it is not known.
    package var nextAttemptAt: WallTime?

    package init(_ code: Code, _ detail: String, since: WallTime? = nil, nextAttemptAt: WallTime? = nil) {
        (self.code, self.detail, self.since, self.nextAttemptAt) = (code, detail, since, nextAttemptAt)
    }

    package enum CodingKeys: String, CodingKey {
        case code, detail
        case since = "since_at"
        case nextAttemptAt = "next_attempt_at"
    }
}
