import PushAPI
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
    var startedAt = WallTime.current()
    private let past: Locked<StatsHistory>

    init(
        pipeline: Pipeline, gateways: ServedGateways, refusals: RefusalCounts?,
        past: Locked<StatsHistory> = Locked(StatsHistory())
    ) {
        (self.pipeline, self.gateways, self.refusals, self.past) = (pipeline, gateways, refusals, past)
    }

    /// The last minute of this node.
    var lastMinute: StatsHistory.Minute { past.withLock { $0.lastMinute } }

    /// Takes a sample every two seconds, until the task is cancelled.
    func keepHistory() async {
        repeat {
            let sample = await sample()
            past.withLock { $0.add(sample) }
            try? await Task.sleep(for: StatsHistory.interval)
        } while !Task.isCancelled
    }

    private func sample() async -> StatsHistory.Sample {
        let intake = await pipeline.intake.counts
        let waits = await pipeline.router.waits()
        let counts = pipeline.outcomes.sum()
        let now = WallTime.current()
        var sample = StatsHistory.Sample(
            at: now, latency: Latency(bounds: OutcomeCounts.bounds, counts: counts.latencies))
        (sample.accepted, sample.refused, sample.busy) = (intake.accepted, intake.rejections, intake.busy)
        (sample.sent, sample.rejected, sample.unknown) = (counts.sent, counts.rejected, counts.unknown)
        (sample.deferred, sample.lostAnswers) = (counts.deferred, counts.lostAnswers)
        sample.waiting = UInt64(pipeline.ledger.latest.waiting)
        sample.oldestWaitingMilliseconds = waits.map { $0.messages.age(at: now).wholeMilliseconds }.max() ?? 0
        return sample
    }

    func snapshot(of node: NodeID?, hasHistory: Bool) async throws -> StatsAnswer {
        guard let served = pipeline.node else {
            if let node { throw Problem.unknownNode(node.name) }
            return await own(hasHistory: hasHistory)
        }
        let question = NodeQuestion(.statistics, hasHistory: hasHistory)
        if let node {
            return node == served.name ? await own(hasHistory: hasHistory) : try await served.ask(question, of: node)
        }
        async let others = served.askOthers(question, for: StatsAnswer.self)
        let own = await own(hasHistory: hasHistory)
        return .sum(
            own: (served.name, own),
            others: await others.map { ($0.node, $0.answer.mapError { LedgerFault($0.detail) }) })
    }

    /// Answers the questions of other nodes from now on.
    func answerOthers(of webhooks: any WebhookService) {
        let (startedAt, refusals, past) = (startedAt, refusals, past)
        // The node belongs to the pipeline, and must not keep it.
        pipeline.node?.whenAsked { [weak pipeline, weak gateways, weak webhooks] question in
            guard let pipeline, let gateways, let webhooks else { return nil }
            let app = question.app.flatMap { AppID($0) }
            switch question.kind {
            case .statistics:
                var statistics = ServedStatistics(
                    pipeline: pipeline, gateways: gateways, refusals: refusals, past: past)
                statistics.startedAt = startedAt
                let hasHistory = question.hasHistory ?? false
                return await NodeQuestion.answer { [statistics] in await statistics.own(hasHistory: hasHistory) }
            case .gateways: return await NodeQuestion.answer { await gateways.ownGateways() }
            case .gateway:
                guard let app else { return nil }
                return await NodeQuestion.answer { try await gateways.known(app, in: gateways.ownGateway(app)) }
            case .obstacle:
                guard let app, let message = question.message else { return nil }
                let obstacles = ServedObstacles(pipeline: pipeline, gateways: gateways)
                return await NodeQuestion.answer { await obstacles.own(message, of: app) }
            case .erase:
                guard let erasure = question.userErasure else { return nil }
                pipeline.router.erase(erasure)
                pipeline.registry.suppress(erased: (question.erasure?.devices ?? []).compactMap { DeviceID($0) })
                return await NodeQuestion.answer { true }
            case .webhooks: return await NodeQuestion.answer { await webhooks.own() }
            case .scale:
                guard let app, let low = question.min, let high = question.max, low >= 1, low <= high else {
                    return nil
                }
                return await NodeQuestion.answer {
                    try await gateways.known(
                        app, in: gateways.scale(app, to: low...high, on: pipeline.node?.name))
                }
            }
        }
    }

    /// Returns the statistics of this node.
    private func own(hasHistory: Bool) async -> StatsAnswer {
        var answer = await own()
        if hasHistory { answer.history = past.withLock { $0.points } }
        return answer
    }

    private func own() async -> StatsAnswer {
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
        let feedback = await pipeline.feedback.status
        // The ledger's own thread may hang with the disk, so the last published state is shown.
        let ledger = pipeline.ledger.latest
        let now = WallTime.current()
        answer.apps = served.map { status in
            var app = app(status)
            let backlog = ledger.apps[status.app.id] ?? AppBacklog()
            (app.waiting, app.scheduled) = (UInt64(backlog.waiting), UInt64(backlog.scheduled))
            app.isBrakeOn = feedback.stopped.contains(status.app.id)
            if app.isBrakeOn == true {
                app.brakeAdvice = status.app.serviceDescription.misdirection
                app.brakeReason = status.app.reasons.misdirected?.rawValue
            }
            let misdirected = feedback.misdirected[status.app.id]
            app.brakeDeactivated = misdirected.map { UInt64($0.count) }
            app.brakeDeactivatedSince = misdirected?.since
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
        app.environment = served.app.identity("environment")
        if let gateway = served.gateway {
            app.connections = gateway.connections.count { $0.state == .open }
            app.credit = gateway.credit
            app.queue = gateway.queue
            app.inFlight = gateway.connections.reduce(0) { $0 + $1.inFlight }
        }
        let counts = pipeline.outcomes.counts(of: served.app.id)
        app.sent = counts.sent
        app.rejected = counts.rejected
        app.expired = counts.expired
        app.suppressed = counts.suppressed
        app.superseded = counts.superseded
        app.cancelled = counts.cancelled
        let seen = pipeline.seen.counts(of: served.app.id)
        (app.displayed, app.opened) = (seen.displayed, seen.opened)
        app.retries = counts.retries
        app.unknown = counts.unknown
        app.lostAnswers = counts.lostAnswers
        app.latency = Latency(bounds: OutcomeCounts.bounds, counts: counts.latencies)
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
