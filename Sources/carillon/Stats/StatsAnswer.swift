/// Everything that one screen shows of a running Carillon. Counters count since it was started and never go back while
/// it runs: who wants rates asks twice. What is not known is left out of the JSON.
struct StatsAnswer: Codable, Sendable, Equatable {
    /// When this was so, milliseconds since 1970.
    var at: Int64
    /// When it was started, milliseconds since 1970.
    var startedAt: Int64
    var version: String?
    /// Whether a push would go out now; `obstacles` says for each app, the ledger or the registry why it would not, and
    /// names messages that cannot be carried out.
    var ready: Bool
    var obstacles: [String] = []
    var intake: Intake?
    var backlog: Backlog?
    var apps: [App] = []
    var ledger: Ledger?
    var registry: Registry?
    var events: Events?

    struct Intake: Codable, Sendable, Equatable {
        var accepted: UInt64?
        var duplicate: UInt64?
        var rejected: UInt64?
        var busy: UInt64?

        init(accepted: UInt64? = nil, duplicate: UInt64? = nil, rejected: UInt64? = nil, busy: UInt64? = nil) {
            (self.accepted, self.duplicate, self.rejected, self.busy) = (accepted, duplicate, rejected, busy)
        }
    }

    struct Backlog: Codable, Sendable, Equatable {
        /// Messages that are to be carried out now, and those whose time has not come.
        var waiting: UInt64?
        var scheduled: UInt64?
        /// When the next scheduled one is due, milliseconds since 1970.
        var nextDue: Int64?

        init(waiting: UInt64? = nil, scheduled: UInt64? = nil, nextDue: Int64? = nil) {
            (self.waiting, self.scheduled, self.nextDue) = (waiting, scheduled, nextDue)
        }

        enum CodingKeys: String, CodingKey {
            case waiting, scheduled
            case nextDue = "next_due_at"
        }
    }

    struct App: Codable, Sendable, Equatable {
        var app: String
        var environment: String?
        /// As `GatewayAnswer.state`.
        var state: String
        var connections: Int?
        var credit: Int?
        var queue: Int?
        var inFlight: Int?
        /// Deliveries, by how they ended.
        var sent: UInt64?
        var rejected: UInt64?
        var expired: UInt64?
        var suppressed: UInt64?
        /// Attempts that are made again, and those never answered.
        var retries: UInt64?
        var unknown: UInt64?
        /// From the acceptance to the provider's answer.
        var latency: Latency?

        init(app: String, state: String) {
            (self.app, self.state) = (app, state)
        }

        enum CodingKeys: String, CodingKey {
            case app, environment, state, connections, credit, queue, sent, rejected, expired, suppressed, retries
            case unknown, latency
            case inFlight = "in_flight"
        }
    }

    struct Ledger: Codable, Sendable, Equatable {
        /// Events written since there is this ledger.
        var events: UInt64?
        var oldest: UInt64?
        var newest: UInt64?
        var lastCommitMilliseconds: Double?
        var bytes: UInt64?
        /// Why it cannot write; left out if it can.
        var fault: String?

        init() {}

        enum CodingKeys: String, CodingKey {
            case events, oldest, newest, bytes, fault
            case lastCommitMilliseconds = "last_commit_ms"
        }
    }

    struct Registry: Codable, Sendable, Equatable {
        /// Devices that were registered at some time, and those of them that are gone.
        var devices: UInt64?
        var inactive: UInt64?
        /// Tokens that are known to be gone and were never registered.
        var unregistered: UInt64?

        init(devices: UInt64? = nil, inactive: UInt64? = nil, unregistered: UInt64? = nil) {
            (self.devices, self.inactive, self.unregistered) = (devices, inactive, unregistered)
        }
    }

    struct Events: Codable, Sendable, Equatable {
        /// Topics, or beginnings of topics, that somebody is subscribed to.
        var subscriptions: Int?
        /// Events that were published.
        var published: UInt64?

        init(subscriptions: Int? = nil, published: UInt64? = nil) {
            (self.subscriptions, self.published) = (subscriptions, published)
        }
    }

    enum CodingKeys: String, CodingKey {
        case version, ready, obstacles, intake, backlog, apps, ledger, registry, events
        case at = "taken_at"
        case startedAt = "started_at"
    }

    init(at: Int64, startedAt: Int64, ready: Bool) {
        (self.at, self.startedAt, self.ready) = (at, startedAt, ready)
    }
}

/// A histogram: how many took at most so long. The difference of two is one of the time between.
struct Latency: Codable, Sendable, Equatable {
    /// Ascending upper bounds in milliseconds.
    var bounds: [Double]
    /// One more than there are bounds; the last counts what took longer than all of them.
    var counts: [UInt64]

    enum CodingKeys: String, CodingKey {
        case bounds = "bounds_ms"
        case counts
    }

    /// Nil unless `earlier` has the same bounds and counted no more.
    func since(_ earlier: Latency) -> Latency? {
        guard earlier.bounds == bounds, earlier.counts.count == counts.count,
            zip(counts, earlier.counts).allSatisfy({ $0 >= $1 })
        else { return nil }
        return Latency(bounds: bounds, counts: zip(counts, earlier.counts).map { $0 - $1 })
    }

    /// In milliseconds, within its bucket as if spread evenly: 0.5 is the median. Nil if nothing was counted;
    /// `isMore`: it took longer than the highest bound, which is given.
    func quantile(_ share: Double) -> (milliseconds: Double, isMore: Bool)? {
        let total = counts.reduce(0) { $0 &+ $1 }
        guard total > 0, counts.count == bounds.count + 1, !bounds.isEmpty else { return nil }
        let rank = max(1, share * Double(total))
        var below = 0.0
        for (index, count) in counts.enumerated() where count > 0 {
            guard below + Double(count) >= rank || index == bounds.count else {
                below += Double(count)
                continue
            }
            guard index < bounds.count else { return (bounds[bounds.count - 1], true) }
            let low = index == 0 ? 0 : bounds[index - 1]
            return (low + (bounds[index] - low) * (rank - below) / Double(count), false)
        }
        return (bounds[bounds.count - 1], true)
    }
}

/// Who knows all that: given to the control server, called from any task.
protocol PipelineStatistics: Sendable {
    func snapshot() async -> StatsAnswer
}
