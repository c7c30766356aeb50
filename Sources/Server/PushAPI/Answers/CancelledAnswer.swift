package import PushModel

/// The answer to a request that cancelled a message, now or before.
package struct CancelledAnswer: JSONAnswer, Equatable {
    package let id: String
    package let status: String
    package let sent: UInt64
    package let cancelled: UInt64
    /// The statuses of the members of a family, by app; nil for a single app.
    package let apps: [String: String]?
    /// The counts of the members of a family that are cancelled, by app; nil for a single app.
    package let counts: [String: Counts]?

    package struct Counts: Codable, Sendable, Equatable {
        package let sent: UInt64
        package let cancelled: UInt64
    }

    /// - Parameter members: The members of a family with what became of the message there; nil for a single app.
    package init(id: String, counts: CancelCounts, members: [(AppID, Cancellation)]? = nil) {
        apps = members.map { all in Dictionary(uniqueKeysWithValues: all.map { ($0.name, $1.word) }) }
        self.counts = members.map { all in
            var counts: [String: Counts] = [:]
            for case (let app, .cancelled(let some)) in all {
                counts[app.name] = Counts(sent: some.sent, cancelled: some.cancelled)
            }
            return counts
        }
        self.id = id
        status = "cancelled"
        (sent, cancelled) = (counts.sent, counts.cancelled)
    }

    package enum CodingKeys: String, CodingKey {
        case status, sent, cancelled, apps, counts
        case id = "message_id"
    }

    package static var about: [String: String] {
        [
            "sent": "The deliveries that had gone out.", "cancelled": "The deliveries that are not sent.",
            "apps": "For a family: the status of each member, which is cancelled, too_late or unknown_message.",
            "counts": "For a family: sent and cancelled of each member that is cancelled.",
        ]
    }
}
