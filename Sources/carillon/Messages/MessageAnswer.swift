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
        case app, id, state, seq, acceptances, duplicates, devices, counts, retries, reason, detail
        case acceptedAt = "accepted_at"
        case completedAt = "completed_at"
        case isWhole = "whole"
    }
}

struct MessageListAnswer: Codable, Sendable, Equatable {
    var messages: [MessageAnswer]
    /// Given back as `after` for older ones; left out where there are none.
    var next: String?
}
