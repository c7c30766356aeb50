import PushWire

/// A message as the kept events tell of it. Times are milliseconds since 1970; what is not known is left out.
struct MessageAnswer: Codable, Sendable, Equatable {
    enum State: String, Codable, Sendable, CaseIterable {
        /// Accepted, and nothing has come of it yet: it waits its turn, or its time.
        case waiting
        case sending
        case completed
        /// Nobody got it before its time was over.
        case expired
        /// Not taken.
        case rejected
    }

    struct Counts: Codable, Sendable, Equatable {
        var sent: UInt64 = 0
        var rejected: UInt64 = 0
        var expired: UInt64 = 0
        var suppressed: UInt64 = 0
        var unknown: UInt64 = 0

        var total: UInt64 { sent + rejected + expired + suppressed + unknown }

        static func += (left: inout Counts, right: Counts) {
            left.sent += right.sent
            left.rejected += right.rejected
            left.expired += right.expired
            left.suppressed += right.suppressed
            left.unknown += right.unknown
        }
    }

    var app: String
    var id: String
    var state: State
    /// The number of its (last) acceptance.
    var seq: UInt64?
    var acceptedAt: Int64?
    /// How often it was accepted: an id may come again for other devices.
    var acceptances: Int
    /// How often it was handed in again and was known.
    var duplicates: Int
    /// How many devices were named; left out where the registry says who it is.
    var devices: UInt64?
    /// Audience, options and client of its last acceptance; empty for named devices with default options.
    var request = Request()
    /// How its deliveries have ended so far.
    var counts: Counts
    /// Attempts that were put off.
    var retries: UInt64
    var completedAt: Int64?
    /// Why it was not taken.
    var reason: String?
    var detail: String?
    /// False where more is kept of it than was looked at: then the counts are at least these.
    var isWhole: Bool

    enum CodingKeys: String, CodingKey {
        case app, state, seq, acceptances, duplicates, devices, counts, retries, reason, detail
        case id = "message_id"
        case acceptedAt = "accepted_at"
        case completedAt = "completed_at"
        case isWhole = "whole"
    }
}

extension MessageAnswer {
    /// The request as the acceptance event describes it; defaults are left out.
    struct Request: Codable, Sendable, Equatable {
        /// `users`, `tags` or `all`.
        var audience: String?
        /// The first of them, and how many there are.
        var users: [String]?
        var userCount: Int64?
        /// The expression, as producers write it.
        var tags: JSONValue?
        var pushType: String?
        var priority: Int64?
        var expiresAt: Int64?
        var notBeforeAt: Int64?
        var collapseID: String?
        var onUnknown: String?
        /// Whose key it came with.
        var client: String?

        enum CodingKeys: String, CodingKey {
            case audience, users, tags, priority, client
            case userCount = "user_count"
            case pushType = "push_type"
            case expiresAt = "expires_at"
            case notBeforeAt = "not_before_at"
            case collapseID = "collapse_id"
            case onUnknown = "on_unknown"
        }
    }

    /// The members of `request` stand beside the others.
    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        app = try fields.decode(String.self, forKey: .app)
        id = try fields.decode(String.self, forKey: .id)
        state = try fields.decode(State.self, forKey: .state)
        seq = try fields.decodeIfPresent(UInt64.self, forKey: .seq)
        acceptedAt = try fields.decodeIfPresent(Int64.self, forKey: .acceptedAt)
        acceptances = try fields.decode(Int.self, forKey: .acceptances)
        duplicates = try fields.decode(Int.self, forKey: .duplicates)
        devices = try fields.decodeIfPresent(UInt64.self, forKey: .devices)
        counts = try fields.decode(Counts.self, forKey: .counts)
        retries = try fields.decode(UInt64.self, forKey: .retries)
        completedAt = try fields.decodeIfPresent(Int64.self, forKey: .completedAt)
        reason = try fields.decodeIfPresent(String.self, forKey: .reason)
        detail = try fields.decodeIfPresent(String.self, forKey: .detail)
        isWhole = try fields.decode(Bool.self, forKey: .isWhole)
        request = try Request(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(app, forKey: .app)
        try fields.encode(id, forKey: .id)
        try fields.encode(state, forKey: .state)
        try fields.encodeIfPresent(seq, forKey: .seq)
        try fields.encodeIfPresent(acceptedAt, forKey: .acceptedAt)
        try fields.encode(acceptances, forKey: .acceptances)
        try fields.encode(duplicates, forKey: .duplicates)
        try fields.encodeIfPresent(devices, forKey: .devices)
        try fields.encode(counts, forKey: .counts)
        try fields.encode(retries, forKey: .retries)
        try fields.encodeIfPresent(completedAt, forKey: .completedAt)
        try fields.encodeIfPresent(reason, forKey: .reason)
        try fields.encodeIfPresent(detail, forKey: .detail)
        try fields.encode(isWhole, forKey: .isWhole)
        try request.encode(to: encoder)
    }
}

struct MessageListAnswer: Codable, Sendable, Equatable {
    var messages: [MessageAnswer]
    /// Given back as `after` for older ones; left out where there are none.
    var next: String?
}
