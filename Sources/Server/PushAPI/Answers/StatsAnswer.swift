package import PushModel
package import PushTime

/// The statistics of a running Carillon.
///
/// Counters start with the process and never decrease; a client computes rates from two answers. Unknown values are
/// left out of the JSON.
package struct StatsAnswer: JSONAnswer, Equatable {
    /// The time of the statistics.
    package var at: WallTime
    /// The start of the process.
    package var startedAt: WallTime
    package var version: String?
    /// Whether pushes can be sent now. If not, `obstacles` contains the reasons: faults of apps, of the ledger or of
    /// the registry, and messages that cannot be carried out.
    package var ready: Bool
    package var obstacles: [String] = []
    package var intake: Intake?
    package var backlog: Backlog?
    package var apps: [App] = []
    package var ledger: Ledger?
    package var registry: Registry?
    package var events: Events?
    package var http: HTTP?
    /// The nodes of the cluster whose numbers are added up, and those that did not answer. A single node, and an answer
    /// about one node, leave it out.
    package var nodes: [Node]?
    /// The last quarter of an hour, the oldest point first, if the request asks for it. In a cluster, of all nodes whose
    /// numbers are added up.
    package var history: [Point]?

    package struct Node: Codable, Sendable, Equatable {
        package var node: String
        /// Why its numbers are missing in the sums; left out if they are not.
        package var fault: String?
        package var startedAt: WallTime?
        package var version: String?
        package var ready: Bool?
        /// The messages that it has accepted from producers, and those that wait in its partitions.
        package var accepted: UInt64?
        package var waiting: UInt64?

        package init(_ node: String) {
            self.node = node
        }

        package enum CodingKeys: String, CodingKey {
            case node, fault, version, ready, accepted, waiting
            case startedAt = "started_at"
        }
    }

    package struct Intake: Codable, Sendable, Equatable {
        package var accepted: UInt64?
        package var duplicate: UInt64?
        package var rejected: UInt64?
        package var busy: UInt64?

        package init(accepted: UInt64? = nil, duplicate: UInt64? = nil, rejected: UInt64? = nil, busy: UInt64? = nil) {
            (self.accepted, self.duplicate, self.rejected, self.busy) = (accepted, duplicate, rejected, busy)
        }
    }

    package struct Backlog: Codable, Sendable, Equatable {
        /// The messages that can be sent now; `scheduled` counts those whose time has not come.
        package var waiting: UInt64?
        package var scheduled: UInt64?
        /// The time at which the next scheduled message is due.
        package var nextDue: WallTime?
        /// The age of the oldest message that is due and not completed; 0 if there is none.
        package var oldestWaitingMilliseconds: Int64?

        package init(
            waiting: UInt64? = nil, scheduled: UInt64? = nil, nextDue: WallTime? = nil,
            oldestWaitingMilliseconds: Int64? = nil
        ) {
            (self.waiting, self.scheduled, self.nextDue) = (waiting, scheduled, nextDue)
            self.oldestWaitingMilliseconds = oldestWaitingMilliseconds
        }

        package enum CodingKeys: String, CodingKey {
            case waiting, scheduled
            case nextDue = "next_due_at"
            case oldestWaitingMilliseconds = "oldest_waiting_ms"
        }
    }

    package struct App: JSONAnswer, Equatable {
        package var app: String
        package var environment: String?
        /// The state, as in ``GatewayAnswer/state``.
        package var state: String
        package var connections: Int?
        package var credit: Int?
        package var queue: Int?
        package var inFlight: Int?
        /// The deliveries by outcome.
        package var sent: UInt64?
        package var rejected: UInt64?
        package var expired: UInt64?
        package var suppressed: UInt64?
        package var superseded: UInt64?
        package var cancelled: UInt64?
        /// The deliveries that apps have reported as displayed and as opened.
        package var displayed: UInt64?
        package var opened: UInt64?
        /// The deliveries that ended without an answer.
        package var unknown: UInt64?
        /// The attempts that were repeated, and those without an answer, whether they were repeated or not.
        package var retries: UInt64?
        package var lostAnswers: UInt64?
        /// The time from the acceptance of a message to the provider's response.
        package var latency: Latency?
        /// The messages of the app that are not completed, as in ``Backlog``.
        package var waiting: UInt64?
        package var scheduled: UInt64?
        /// The age of the oldest message that is due and not completed, and of the oldest delivery that a gateway has
        /// and that has no result; 0 if there is none.
        package var oldestWaitingMilliseconds: Int64?
        package var oldestUnansweredMilliseconds: Int64?
        /// Whether the brake stops deactivations of devices after too many bad tokens.
        package var isBrakeOn: Bool?
        /// The devices that bad tokens had deactivated before the brake was on, and when the first of them was.
        package var brakeDeactivated: UInt64?
        package var brakeDeactivatedSince: WallTime?
        /// What to check while the brake is on, and the reason of the push service for tokens of other apps.
        package var brakeAdvice: String?
        package var brakeReason: String?

        package init(app: String, state: String) {
            (self.app, self.state) = (app, state)
        }

        package static var about: [String: String] {
            [
                "unknown": "The deliveries that ended without an answer, as in the counts of messages.",
                "retries": "The attempts that were repeated, as in messages: deferred or without an answer.",
                "lost_answers": "The attempts without an answer, whether they were repeated or not.",
            ]
        }

        package enum CodingKeys: String, CodingKey {
            case app, environment, state, connections, credit, queue, sent, rejected, expired, suppressed, superseded,
                retries
            case unknown, latency, waiting, scheduled, cancelled, displayed, opened
            case inFlight = "in_flight"
            case lostAnswers = "lost_answers"
            case isBrakeOn = "brake_on"
            case brakeDeactivated = "brake_deactivated"
            case brakeDeactivatedSince = "brake_first_deactivated_at"
            case brakeAdvice = "brake_advice"
            case brakeReason = "brake_reason"
            case oldestWaitingMilliseconds = "oldest_waiting_ms"
            case oldestUnansweredMilliseconds = "oldest_unanswered_ms"
        }
    }

    package struct Ledger: Codable, Sendable, Equatable {
        /// The number of events written since the ledger was created.
        package var events: UInt64?
        package var oldest: UInt64?
        package var newest: UInt64?
        package var lastCommitMilliseconds: Double?
        package var bytes: UInt64?
        /// The reason why the ledger cannot write; left out if it can.
        package var fault: String?

        package init() {}

        package enum CodingKeys: String, CodingKey {
            case events, oldest, newest, bytes, fault
            case lastCommitMilliseconds = "last_commit_ms"
        }
    }

    package struct Registry: Codable, Sendable, Equatable {
        /// The number of devices that were ever registered; `inactive` counts those of them that are not active.
        package var devices: UInt64?
        package var inactive: UInt64?
        /// The number of tokens that are known to be dead and were never registered.
        package var unregistered: UInt64?

        package init(devices: UInt64? = nil, inactive: UInt64? = nil, unregistered: UInt64? = nil) {
            (self.devices, self.inactive, self.unregistered) = (devices, inactive, unregistered)
        }
    }

    package struct Events: Codable, Sendable, Equatable {
        /// The number of topic prefixes with at least one subscriber.
        package var subscriptions: Int?
        /// The number of published events.
        package var published: UInt64?

        package init(subscriptions: Int? = nil, published: UInt64? = nil) {
            (self.subscriptions, self.published) = (subscriptions, published)
        }
    }

    /// The port `http.listen`; left out if there is none.
    package struct HTTP: Codable, Sendable, Equatable {
        /// The requests that were refused, by reason. Reasons without any are left out.
        package var refused: [String: UInt64]

        package init(refused: [String: UInt64]) {
            self.refused = refused
        }
    }

    package enum CodingKeys: String, CodingKey {
        case version, ready, obstacles, intake, backlog, apps, ledger, registry, events, http, nodes, history
        case at = "taken_at"
        case startedAt = "started_at"
    }

    package init(at: WallTime, startedAt: WallTime, ready: Bool) {
        (self.at, self.startedAt, self.ready) = (at, startedAt, ready)
    }
}

/// A histogram of durations. The difference of two snapshots is the histogram of the time between them.
package struct Latency: Codable, Sendable, Equatable {
    /// The upper bounds of the buckets in milliseconds, in ascending order.
    package var bounds: [Double]
    /// The counts of the buckets. There is one more than there are bounds; the last one counts longer durations.
    package var counts: [UInt64]

    package enum CodingKeys: String, CodingKey {
        case bounds = "bounds_ms"
        case counts
    }

    package init(bounds: [Double], counts: [UInt64]) {
        (self.bounds, self.counts) = (bounds, counts)
    }

    /// Returns the difference to `earlier`, or nil unless that has the same bounds and no greater counts.
    package func since(_ earlier: Latency) -> Latency? {
        guard earlier.bounds == bounds, earlier.counts.count == counts.count,
            zip(counts, earlier.counts).allSatisfy({ $0 >= $1 })
        else { return nil }
        return Latency(bounds: bounds, counts: zip(counts, earlier.counts).map { $0 - $1 })
    }

    /// Returns a quantile in milliseconds, interpolated within its bucket; 0.5 is the median.
    ///
    /// It is nil if nothing was counted. If `isMore` is true, the quantile is above the highest bound, which is
    /// returned.
    package func quantile(_ share: Double) -> (milliseconds: Double, isMore: Bool)? {
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

/// The source of the statistics for the control server. It may be called from any task.
package protocol PipelineStatistics: Sendable {
    /// Returns the statistics of a node, or of all nodes together.
    ///
    /// - Parameter hasHistory: Whether the answer has the last quarter of an hour, too.
    /// - Throws: `Problem` if there is no such node, or if it does not answer.
    func snapshot(of node: NodeID?, hasHistory: Bool) async throws -> StatsAnswer
}
