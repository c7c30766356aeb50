import PushLoop
import PushModel

/// A ledger that counts the outcomes of deliveries for `stats`, and forwards all calls. It locks once for each batch.
final class CountedLedger: Ledger {
    struct Counts: Sendable {
        var sent: UInt64 = 0
        var rejected: UInt64 = 0
        var retries: UInt64 = 0
        var unknown: UInt64 = 0
        var expired: UInt64 = 0
        var suppressed: UInt64 = 0
        /// Deliveries that were not sent because their message was cancelled.
        var cancelled: UInt64 = 0
        /// The histogram of the times from acceptance to response, with the buckets of ``CountedLedger/bounds``.
        var latencies = Array(repeating: UInt64(0), count: CountedLedger.bounds.count + 1)
    }

    /// The upper bounds of the buckets in milliseconds.
    static let bounds: [Double] = [
        1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000,
    ]

    private let ledger: any Ledger
    private let clock: @Sendable () -> WallTime
    private let counts = Locked<[AppID: Counts]>([:])
    /// The metrics of the apps that are served. They outlive a reload, and end with the app.
    private let metrics = Locked<[AppID: AppMetrics]>([:])

    init(_ ledger: any Ledger, clock: @escaping @Sendable () -> WallTime = { .current() }) {
        self.ledger = ledger
        self.clock = clock
    }

    /// Passes the times of deliveries to the metrics of an app, or to none.
    func measure(_ app: AppID, into metrics: AppMetrics?) { self.metrics.withLock { $0[app] = metrics } }

    func counts(of app: AppID) -> Counts { counts.withLock { $0[app] ?? Counts() } }

    /// Returns what all apps together have of the outcomes that ``StatsHistory`` follows.
    func sum() -> Counts {
        counts.withLock { all in
            var sum = Counts()
            for app in all.values {
                sum.sent += app.sent
                sum.rejected += app.rejected
                sum.unknown += app.unknown
                for bucket in sum.latencies.indices { sum.latencies[bucket] += app.latencies[bucket] }
            }
            return sum
        }
    }

    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        if !deliveries.isEmpty { count(deliveries) }
        for message in completed where message.counts.cancelled > 0 {
            counts.withLock { $0[message.message.app, default: Counts()].cancelled += UInt64(message.counts.cancelled) }
        }
        ledger.record(deliveries, completed: completed)
    }

    private func count(_ deliveries: [DeliveryRecord]) {
        let now = clock()
        counts.withLock { all in
            var app = deliveries[0].message.app
            var counts = all[app] ?? Counts()
            var times = metrics.withLock { $0[app] }?.deliveryTimes
            for record in deliveries {
                if record.message.app != app {
                    all[app] = counts
                    app = record.message.app
                    counts = all[app] ?? Counts()
                    times = metrics.withLock { $0[app] }?.deliveryTimes
                }
                switch record.outcome {
                case .sent:
                    counts.sent += 1
                    times?.observe(Self.time(of: record, at: now))
                    counts.latencies[Self.bucket(now.milliseconds(since: record.acceptedAt))] += 1
                case .rejected:
                    counts.rejected += 1
                    times?.observe(Self.time(of: record, at: now))
                    counts.latencies[Self.bucket(now.milliseconds(since: record.acceptedAt))] += 1
                case .retry: counts.retries += 1
                case .unknown: counts.unknown += 1
                case .expired: counts.expired += 1
                case .suppressed: counts.suppressed += 1
                }
            }
            all[app] = counts
        }
    }

    /// Returns the time since the message could first be sent, which is zero if the clock was set back.
    private static func time(of record: DeliveryRecord, at now: WallTime) -> Duration {
        let due = record.message.notBefore.map { WallTime($0) } ?? .distantPast
        return .milliseconds(max(0, now.milliseconds(since: max(record.acceptedAt, due))))
    }

    private static func bucket(_ milliseconds: Int64) -> Int {
        let time = Double(milliseconds)
        return bounds.firstIndex { time <= $0 } ?? bounds.count
    }

    // MARK: Forwarded calls

    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        ledger.accept(group, reply: reply)
    }

    func cancel(_ request: CancelRequest, reply: @escaping @Sendable (Cancellation) -> Void) {
        ledger.cancel(request, reply: reply)
    }

    func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) { ledger.ended(cancels, releasing: claims) }

    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) { ledger.note(events, done: done) }

    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {
        ledger.claim(pages, reply: reply)
    }

    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void) {
        ledger.load(seqs, reply: reply)
    }

    func due(
        at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void
    ) {
        ledger.due(at: time, limit: limit, reply: reply)
    }
}
