package import PushTime
package import PushWire

/// The state of a message, computed from the kept events. Times are milliseconds since 1970; unknown values are left
/// out.
package struct MessageSummary: Codable, Sendable, Equatable {
    package enum State: String, Codable, Sendable, CaseIterable {
        /// The message is accepted and waits for its turn or its time.
        case waiting
        case sending
        case completed
        /// The message expired before it was sent to any device.
        case expired
        /// The message was cancelled before all of it was sent.
        case cancelled
        /// The message was not accepted.
        case rejected
    }

    package struct Counts: Codable, Sendable, Equatable {
        package var sent: UInt64 = 0
        package var rejected: UInt64 = 0
        package var expired: UInt64 = 0
        package var suppressed: UInt64 = 0
        package var unknown: UInt64 = 0
        /// The messages to Live Activities in whose place a newer one was sent.
        package var superseded: UInt64 = 0
        /// The deliveries that were not sent because the message was cancelled.
        package var cancelled: UInt64 = 0
        /// Those among `suppressed` whose users get the message in an app of its family that comes first; left out if
        /// there are none.
        package var preferred: UInt64?
        /// The deliveries that apps have reported as displayed and as opened; left out if there are none.
        package var displayed: UInt64?
        package var opened: UInt64?

        /// The deliveries that have ended. Preferred ones are among the suppressed, and displayed or opened ones among the sent.
        package var total: UInt64 { sent &+ rejected &+ expired &+ suppressed &+ unknown &+ superseded &+ cancelled }

        static func += (left: inout Counts, right: Counts) {
            left.sent &+= right.sent
            left.rejected &+= right.rejected
            left.expired &+= right.expired
            left.suppressed &+= right.suppressed
            left.unknown &+= right.unknown
            left.superseded &+= right.superseded
            left.cancelled &+= right.cancelled
            left.preferred = sum(left.preferred, right.preferred)
            left.displayed = sum(left.displayed, right.displayed)
            left.opened = sum(left.opened, right.opened)
        }

        private static func sum(_ left: UInt64?, _ right: UInt64?) -> UInt64? {
            left == nil && right == nil ? nil : (left ?? 0) &+ (right ?? 0)
        }
    }

    package var app: String
    package var id: String
    package var state: State
    /// The number of the event of its last acceptance.
    package var seq: UInt64?
    /// The part of that number in a cluster; left out if it is 0.
    package var part: Int?
    package var acceptedAt: WallTime?
    /// The number of acceptances. An id may be accepted again for other devices.
    package var acceptances: Int
    /// The number of requests that were duplicates of it.
    package var duplicates: Int
    /// The number of devices that the requests named; left out if the registry determined the devices.
    package var devices: UInt64?
    /// The audience, options and client of its last acceptance, with the Live Activities of all. It is empty for named devices with default options.
    package var request = Request()
    /// The numbers of its deliveries by outcome, so far.
    package var counts: Counts
    /// The number of attempts after which a delivery was retried.
    package var retries: UInt64
    package var completedAt: WallTime?
    /// The reason why it was rejected.
    package var reason: String?
    package var detail: String?
    /// The client that cancelled it, if it is known.
    package var cancelledBy: String?
    /// Whether all kept events of the message were examined. If not, the counts are lower bounds.
    package var isWhole: Bool
    /// Why it has not gone out, or not to all of its devices; left out in lists, and if nothing holds it up.
    package var obstacle: MessageObstacle?
    /// For a family: the messages of its members that have this id; left out for an app.
    package var members: [MessageSummary]?

    package enum CodingKeys: String, CodingKey {
        case app, state, seq, part, acceptances, duplicates, devices, counts, retries, reason, detail, obstacle, members
        case id = "message_id"
        case acceptedAt = "accepted_at"
        case completedAt = "completed_at"
        case cancelledBy = "cancelled_by"
        case isWhole = "whole"
    }
}

extension MessageSummary {
    /// The request as the acceptance event describes it; defaults are left out.
    package struct Request: Codable, Sendable, Equatable {
        /// `users`, `tags`, `activities` or `all`.
        package var audience: String?
        /// The first users of the audience; `userCount` is the number of all.
        package var users: [String]?
        package var userCount: Int64?
        /// The Live Activities of the audience, of all acceptances.
        package var activities: [String]?
        /// The expression of tags, in the form of the envelope.
        package var tags: JSONValue?
        package var pushType: String?
        package var priority: Int64?
        package var expiresAt: WallTime?
        package var notBeforeAt: WallTime?
        /// The local time at which it goes out in each time zone.
        package var atLocal: String?
        /// The number of times of day that are ahead or not completed, of those at which clocks show the local time.
        package var turnsLeft: Int?
        package var collapseID: String?
        package var onUnknown: String?
        /// The client that sent the request, identified by its CURVE key.
        package var client: String?

        package enum CodingKeys: String, CodingKey {
            case audience, users, activities, tags, priority, client
            case userCount = "user_count"
            case pushType = "push_type"
            case expiresAt = "expires_at"
            case notBeforeAt = "not_before_at"
            case atLocal = "at_local"
            case turnsLeft = "turns_left"
            case collapseID = "collapse_id"
            case onUnknown = "on_unknown"
        }
    }

    /// Decodes a summary. In the JSON, the members of `request` are in the same object as the others.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        app = try fields.decode(String.self, forKey: .app)
        id = try fields.decode(String.self, forKey: .id)
        state = try fields.decode(State.self, forKey: .state)
        seq = try fields.decodeIfPresent(UInt64.self, forKey: .seq)
        part = try fields.decodeIfPresent(Int.self, forKey: .part)
        acceptedAt = try fields.decodeIfPresent(WallTime.self, forKey: .acceptedAt)
        acceptances = try fields.decode(Int.self, forKey: .acceptances)
        duplicates = try fields.decode(Int.self, forKey: .duplicates)
        devices = try fields.decodeIfPresent(UInt64.self, forKey: .devices)
        counts = try fields.decode(Counts.self, forKey: .counts)
        retries = try fields.decode(UInt64.self, forKey: .retries)
        completedAt = try fields.decodeIfPresent(WallTime.self, forKey: .completedAt)
        reason = try fields.decodeIfPresent(String.self, forKey: .reason)
        detail = try fields.decodeIfPresent(String.self, forKey: .detail)
        cancelledBy = try fields.decodeIfPresent(String.self, forKey: .cancelledBy)
        isWhole = try fields.decode(Bool.self, forKey: .isWhole)
        obstacle = try fields.decodeIfPresent(MessageObstacle.self, forKey: .obstacle)
        members = try fields.decodeIfPresent([MessageSummary].self, forKey: .members)
        request = try Request(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(app, forKey: .app)
        try fields.encode(id, forKey: .id)
        try fields.encode(state, forKey: .state)
        try fields.encodeIfPresent(seq, forKey: .seq)
        try fields.encodeIfPresent(part, forKey: .part)
        try fields.encodeIfPresent(acceptedAt, forKey: .acceptedAt)
        try fields.encode(acceptances, forKey: .acceptances)
        try fields.encode(duplicates, forKey: .duplicates)
        try fields.encodeIfPresent(devices, forKey: .devices)
        try fields.encode(counts, forKey: .counts)
        try fields.encode(retries, forKey: .retries)
        try fields.encodeIfPresent(completedAt, forKey: .completedAt)
        try fields.encodeIfPresent(reason, forKey: .reason)
        try fields.encodeIfPresent(detail, forKey: .detail)
        try fields.encodeIfPresent(cancelledBy, forKey: .cancelledBy)
        try fields.encode(isWhole, forKey: .isWhole)
        try fields.encodeIfPresent(obstacle, forKey: .obstacle)
        try fields.encodeIfPresent(members, forKey: .members)
        try request.encode(to: encoder)
    }
}
