import PushLoop
import PushModel

/// The outcomes of deliveries by app, for `stats` and metrics. They arrive from the router in batches, with one lock for
/// each.
final class OutcomeCounts: Sendable {
    struct Counts: Sendable {
        var sent: UInt64 = 0
        var rejected: UInt64 = 0
        /// Attempts that the push service deferred.
        var deferred: UInt64 = 0
        /// Attempts without an answer that were repeated.
        var resent: UInt64 = 0
        /// Deliveries that ended without an answer.
        var unknown: UInt64 = 0
        var expired: UInt64 = 0
        var suppressed: UInt64 = 0
        var superseded: UInt64 = 0
        /// Deliveries that were not sent because their message was cancelled.
        var cancelled: UInt64 = 0
        /// The histogram of the times from acceptance to response, with the buckets of ``OutcomeCounts/bounds``.
        var latencies = Array(repeating: UInt64(0), count: OutcomeCounts.bounds.count + 1)

        /// The attempts that were repeated, as messages count them.
        var retries: UInt64 { deferred + resent }
        /// The attempts without an answer.
        var lostAnswers: UInt64 { resent + unknown }
    }

    /// The upper bounds of the buckets in milliseconds.
    static let bounds: [Double] = [
        1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000,
    ]

    fileprivate struct App {
        var counts = Counts()
        /// Nil for an app that is not served. The metrics outlive a reload, and end with the app; the counts stay.
        var metrics: AppMetrics?
    }

    private let clock: @Sendable () -> WallTime
    private let apps = Locked<[AppID: App]>([:])

    init(clock: @escaping @Sendable () -> WallTime) {
        self.clock = clock
    }

    /// Passes the times of deliveries to the metrics of an app, or to none.
    func measure(_ app: AppID, into metrics: AppMetrics?) {
        apps.withLock { $0[app, default: App()].metrics = metrics }
    }

    func counts(of app: AppID) -> Counts { apps.withLock { $0[app]?.counts ?? Counts() } }

    /// Returns what all apps together have of the outcomes that ``StatsHistory`` follows.
    func sum() -> Counts {
        apps.withLock { apps in
            var sum = Counts()
            for app in apps.values.lazy.map(\.counts) {
                sum.sent += app.sent
                sum.rejected += app.rejected
                sum.unknown += app.unknown
                sum.deferred += app.deferred
                sum.resent += app.resent
                for bucket in sum.latencies.indices { sum.latencies[bucket] += app.latencies[bucket] }
            }
            return sum
        }
    }

    /// Counts the outcomes that the router records.
    func take(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        if deliveries.isEmpty, completed.isEmpty { return }
        let now = clock()
        apps.withLock { apps in
            var rest = deliveries[...]
            while let app = rest.first?.message.app {
                let next = rest.firstIndex { $0.message.app != app } ?? rest.endIndex
                apps[app, default: App()].count(rest[..<next], at: now)
                rest = rest[next...]
            }
            for message in completed where message.counts.cancelled > 0 || message.counts.preferred > 0 {
                apps[message.message.app, default: App()].counts.cancelled += UInt64(message.counts.cancelled)
                // These have no records.
                apps[message.message.app, default: App()].counts.suppressed += UInt64(message.counts.preferred)
            }
        }
    }
}

extension OutcomeCounts.App {
    fileprivate mutating func count(_ records: ArraySlice<DeliveryRecord>, at now: WallTime) {
        let times = metrics?.deliveryTimes
        let records = records.span
        for index in records.indices {
            switch records[index].outcome {
            case .sent:
                counts.sent += 1
                measure(records[index], at: now, into: times)
            case .rejected(let refusal, _):
                counts.rejected += 1
                if refusal.isAnswer { measure(records[index], at: now, into: times) }
            case .retry: counts.deferred += 1
            case .unknown(_, isFinal: false): counts.resent += 1
            case .unknown(_, isFinal: true): counts.unknown += 1
            case .expired, .expiredBecause: counts.expired += 1
            case .suppressed: counts.suppressed += 1
            case .superseded: counts.superseded += 1
            }
        }
    }

    private mutating func measure(_ record: DeliveryRecord, at now: WallTime, into times: Histogram?) {
        times?.observe(Self.time(of: record, at: now))
        counts.latencies[Self.bucket(now.milliseconds(since: record.acceptedAt))] += 1
    }

    /// Returns the time since the message could first be sent, which is zero if the clock was set back.
    private static func time(of record: DeliveryRecord, at now: WallTime) -> Duration {
        let due = record.message.notBefore.map { WallTime($0) } ?? .distantPast
        return .milliseconds(max(0, now.milliseconds(since: max(record.acceptedAt, due))))
    }

    private static func bucket(_ milliseconds: Int64) -> Int {
        let time = Double(milliseconds)
        return OutcomeCounts.bounds.firstIndex { time <= $0 } ?? OutcomeCounts.bounds.count
    }
}
