import PushAdmin
import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushTime

/// The statistics that `carillon stats` shows, collected from all parts of the server.
struct ServedStatistics: PipelineStatistics {
    let pipeline: Pipeline
    let gateways: ServedGateways
    /// The refused requests of `http.listen`; nil if it is off.
    let refusals: RefusalCounts?
    let startedAt = WallTime.current()

    func snapshot() async -> StatsAnswer {
        let served = await gateways.statuses()
        let readiness = pipeline.readiness(of: served)
        var answer = StatsAnswer(at: WallTime.current(), startedAt: startedAt, ready: readiness.ready)
        answer.version = Release.version
        answer.obstacles =
            (readiness.reason.map { [$0] } ?? [])
            + readiness.apps.compactMap { app in app.reason.map { "\(app.app): \($0)" } }
            + pipeline.troubles.everywhere.filter { $0 != readiness.reason } + (readiness.warnings ?? [])
        let counts = await pipeline.intake.counts
        answer.intake = StatsAnswer.Intake(
            accepted: counts.accepted, duplicate: counts.duplicate, rejected: counts.rejections, busy: counts.busy)
        let waits = Dictionary(
            await pipeline.router.waits().map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
        let stopped = await pipeline.feedback.status.stopped
        // The ledger's own thread may hang with the disk, so the last published state is shown.
        let ledger = pipeline.ledger.latest
        let now = WallTime.current()
        answer.apps = served.map { status in
            var app = app(status)
            let backlog = ledger.apps[status.app.id] ?? AppBacklog()
            (app.waiting, app.scheduled) = (UInt64(backlog.waiting), UInt64(backlog.scheduled))
            app.isBrakeOn = stopped.contains(status.app.id)
            let wait = waits[status.app.id]
            app.oldestWaitingMilliseconds = wait?.messages.age(at: now).wholeMilliseconds ?? 0
            app.oldestUnansweredMilliseconds = wait?.unanswered.age(at: now).wholeMilliseconds ?? 0
            return app
        }
        let nextDue = await pipeline.router.nextDue
        answer.backlog = StatsAnswer.Backlog(
            waiting: UInt64(ledger.waiting), scheduled: UInt64(ledger.scheduled),
            // The time may be that of a message that was cancelled.
            nextDue: ledger.scheduled > 0 ? nextDue.map { WallTime($0) } : nil,
            oldestWaitingMilliseconds: waits.values.map { $0.messages.age(at: now).wholeMilliseconds }.max() ?? 0)
        answer.ledger = StatsAnswer.Ledger(ledger)
        answer.registry = StatsAnswer.Registry(pipeline.registry.status)
        let events = await pipeline.bus.status
        answer.events = StatsAnswer.Events(subscriptions: events.prefixCount, published: events.published)
        answer.http = refusals.map { StatsAnswer.HTTP(refused: $0.byReason) }
        return answer
    }

    private func app(_ served: ServedStatus) -> StatsAnswer.App {
        var app = StatsAnswer.App(app: served.app.id.name, state: served.state)
        app.environment = served.app.environment.rawValue
        if let gateway = served.gateway {
            app.connections = gateway.connections.count { $0.state == .open }
            app.credit = gateway.credit
            app.queue = gateway.queue
            app.inFlight = gateway.connections.reduce(0) { $0 + $1.inFlight }
        }
        let counts = pipeline.counted.counts(of: served.app.id)
        app.sent = counts.sent
        app.rejected = counts.rejected
        app.expired = counts.expired
        app.suppressed = counts.suppressed
        app.cancelled = counts.cancelled
        let seen = pipeline.seen.counts(of: served.app.id)
        (app.displayed, app.opened) = (seen.displayed, seen.opened)
        app.retries = counts.retries
        app.unknown = counts.unknown
        app.latency = Latency(bounds: CountedLedger.bounds, counts: counts.latencies)
        return app
    }
}

extension StatsAnswer.Registry {
    fileprivate init(_ status: RegistryStatus) {
        // The two counts are not read at the same moment, so that their difference may be negative.
        let gone = max(0, status.inactive - status.unregistered)
        self.init(
            devices: UInt64(status.registered), inactive: UInt64(gone), unregistered: UInt64(status.unregistered))
    }
}

extension StatsAnswer.Ledger {
    fileprivate init(_ status: LedgerStatus) {
        self.init()
        oldest = status.oldest
        newest = status.newest
        events = status.newest
        bytes = UInt64(clamping: status.logBytes)
        fault = status.fault?.description
        if status.commits.count > 0 {
            lastCommitMilliseconds = status.commits.last.inSeconds * 1000
        }
    }
}
