import PushAPI
import PushConfiguration
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushTime
import PushTransport
import PushWire

/// The parts between producers and gateways: intake, ledger, registry, router, feedback and events.
///
/// It is opened before the gateways and closed after them, because it receives their reports. Intake opens last and
/// closes first.
final class Pipeline: Sendable {
    /// The endpoints for producers and monitors.
    struct Endpoints: Sendable {
        var intake: IntakeEndpoints?
        var events: EventBusEndpoints
    }

    /// The objects that a pipeline needs from its owner.
    struct Dependencies: Sendable {
        let loops: LoopGroup
        let log: Logger
        let directory: String
        let limits: ConnectionLimits
        let metrics: MetricsRegistry
        let resolver: NameResolver
        /// Ends the server, because this node cannot be a member of its cluster any more.
        let halt: @Sendable () -> Void
    }

    /// The ledger of this process.
    let ledger: any LedgerEngine
    /// The ledger for producers. In a cluster, it passes requests on to the owners of their partitions.
    private let front: any Ledger
    /// The log of notifications of stores.
    let receipts: any ReceiptLog
    let outcomes: OutcomeCounts
    /// The reports of displayed and opened notifications.
    let seen: SeenReports
    let registry: any RegistryEngine
    let router: Router
    let feedback: Feedback
    let bus: EventBus
    let intake: Intake
    let waiting = CommittedEvents()
    /// This node of a cluster; nil for a single node.
    let node: ServedNode?
    /// The right to send, which can end in a cluster; nil on a single node.
    var permit: SendingPermit? { node?.permit }
    /// The time by which messages expire and are due.
    let clock: SharedClock
    /// The place of the key that encrypts the secrets of API keys.
    let sealing: SealingKeySource
    /// The numbers of messages that were waiting when the ledger was opened.
    let recovered: Backlog
    /// The apps that operators have paused, as of the start.
    let pausedAtOpen: [AppID: WallTime]
    private let follower: RegistryFollower
    private let dependencies: Dependencies
    private let contexts: ZMQContexts
    let refusedHandshakes: RefusedHandshakes
    private let intakeKeys: ZAPHandler?
    private let eventKeys: ZAPHandler?
    private let state = Locked(State())
    /// The problems that the router reported last.
    private let routerTroubles: Locked<RouterTroubles>

    struct Backlog: Sendable {
        var waiting = 0
        var scheduled = 0
    }

    private struct State {
        var left = Backlog()
        var fault: LedgerFault?
        var isTakingIn = false
        var endpoints: Endpoints?
        var timer: LoopBound<TimerHandle>?
    }

    /// Opens the files and the sockets for monitors, and gives the waiting messages to the router.
    ///
    /// Nothing is sent before an app has a gateway, and no message is accepted before ``takeIn()``.
    init(_ configuration: Configuration, on dependencies: Dependencies) async throws {
        self.dependencies = dependencies
        let log = dependencies.log
        let clock = SharedClock()
        self.clock = clock
        // With several loops, incoming and outgoing work run on different ones.
        let (front, back) = (dependencies.loops.loops[0], dependencies.loops.loops[dependencies.loops.loops.count - 1])
        let security = try PipelineSecurity(configuration.security)
        let contexts = try ZMQContexts()
        self.contexts = contexts
        let refused = RefusedHandshakes(configuration.security.directory, log: log)
        refusedHandshakes = refused
        let stores: Stores
        do {
            (intakeKeys, eventKeys) = try Self.handlers(
                configuration.security, contexts: contexts, refused: refused, log: log)
            if configuration.store == nil { InstallationFacts.reportLoss(in: dependencies.directory, to: log) }
            stores = try await Stores.open(
                configuration, configuration.ledgerRetention,
                on: Stores.Dependencies(
                    directory: dependencies.directory, version: Release.version, loop: front,
                    resolver: dependencies.resolver, log: log,
                    commits: dependencies.metrics.histogram(
                        "carillon_ledger_commit_seconds",
                        help: "Duration of the commits of the ledger, including the sync."),
                    clock: clock, halt: dependencies.halt))
        } catch {
            await contexts.terminate()
            throw error
        }
        let status = await stores.ledger.status()
        recovered = Backlog(waiting: status.waiting, scheduled: status.scheduled)
        let (ledger, registry, node) = (stores.ledger, stores.registry, stores.node)
        (self.ledger, self.registry, self.node, sealing) = (ledger, registry, node, stores.sealing)
        self.front = node?.intake ?? ledger
        receipts = node?.receipts ?? ledger
        seen = SeenReports(ledger)
        let outcomes = OutcomeCounts(clock: { clock.now })
        self.outcomes = outcomes
        let feedback = Feedback(
            on: back, registry: registry, ledger: ledger, identities: ledger.identities, board: node?.board,
            wallClock: { clock.now }, log: log)
        self.feedback = feedback
        node?.whenSharedRead { [weak feedback] in feedback?.take($0) }
        var routing = Router.Settings()
        routing.policy.expiry.unlimited = configuration.intake.expireAfter
        routing.wallClock = { clock.now }
        routing.recorded = { outcomes.take($0, completed: $1) }
        routing.answered = { feedback.take($0) }
        let troubles = Locked(RouterTroubles())
        routerTroubles = troubles
        routing.troublesChanged = { before, now in
            troubles.withLock { $0 = now }
            log.reportChanges(from: before, to: now)
        }
        routing.damaged = { fault in
            log.error("accepted message damaged, not sent", [.error: fault.description])
        }
        let router = await back.run { [routing] in
            Router(on: back, ledger: ledger, registry: registry, identities: ledger.identities, settings: routing)
        }
        self.router = router
        pausedAtOpen = stores.backlog.paused
        for app in pausedAtOpen.keys { router.setPaused(true, app: app) }
        var events = EventBusSettings(configuration, security, limits: dependencies.limits, log: log)
        events.doorNews = refused.observing(events.doorNews)
        events.isOfCluster = node != nil
        let heads = ledger.heads().first
        bus = EventBus(
            on: front, in: contexts.events, log: ledger, settings: events, last: heads?.newest ?? 0,
            heads: heads?.topics ?? [])
        var intakeSettings = IntakeSettings(configuration, security, limits: dependencies.limits, log: log)
        intakeSettings.doorNews = refused.observing(intakeSettings.doorNews)
        if let node { intakeSettings.nodes = { node.owners.hints(of: node.name) } }
        intake = Intake(
            on: front, context: contexts.intake, ledger: self.front, settings: intakeSettings,
            backlog: { router.unfinished },
            load: {
                let held = ledger.projectedBacklog(of: $0)
                return AppLoad(waiting: held.waiting, scheduled: held.scheduled)
            },
            wallClock: { clock.now })
        follower = RegistryFollower(registry, log: ledger) { error in
            log.warning(
                "registry cannot apply device events, retrying", [.error: "\(error)"])
        }
        do {
            // In a cluster, the owner of a part reads it when it is opened.
            if node == nil { try await registry.catchUp(from: ledger) }
            let endpoints = Endpoints(intake: nil, events: try await bus.open())
            state.withLock { $0.endpoints = endpoints }
        } catch {
            await close()
            throw (error as? ZMQError).map { StartError(.unavailable, "cannot open the sockets for events: \($0)") }
                ?? error
        }
        await ledger.start(
            PipelineWitness(
                router: router, bus: bus, follower: follower, waiting: waiting, heads: { ledger.heads(of: $0) },
                health: { [weak self] in self?.healthChanged($0) }))
        // Its number is below those of the deliveries that begin now.
        if let restored = stores.backlog.restored { announce(restored.event) }
        if node == nil { router.backlog(stores.backlog) }
        await beginUpkeep(front)
    }

    /// Separate contexts for intake and events, so that neither waits for the other's I/O thread.
    private struct ZMQContexts {
        let intake: ZMQContext
        let events: ZMQContext

        init() throws {
            intake = try ZMQContext()
            events = try ZMQContext()
        }

        func terminate() async {
            await intake.terminate()
            await events.terminate()
        }
    }

    private static func handlers(
        _ configured: Configuration.Security, contexts: ZMQContexts, refused: RefusedHandshakes, log: Logger
    ) throws -> (ZAPHandler?, ZAPHandler?) {
        let troubled: @Sendable (ZMQError) -> Void = { error in
            log.error("fault in the ZAP thread, which admits ZeroMQ clients", [.error: "\(error)"])
        }
        let users = configured.directory.users
        // The handlers are needed without CURVE too, because such sockets are also bound with a ZAP domain.
        return (
            try ZAPHandler(in: contexts.intake, admitting: users, observer: { refused.take($0) }, onFailure: troubled),
            try ZAPHandler(in: contexts.events, admitting: users, observer: { refused.take($0) }, onFailure: troubled)
        )
    }

    /// Opens intake for producers, and joins the cluster if there is one.
    func openIntake() async throws {
        try await node?.join()
        do {
            let endpoints = try await intake.open()
            state.withLock { state in
                state.endpoints?.intake = endpoints
                state.isTakingIn = true
            }
        } catch {
            throw StartError(.unavailable, "cannot open intake: \(error)")
        }
    }

    /// The numbers of messages that are left for the next start. They are known after ``close()``.
    var left: Backlog { state.withLock { $0.left } }

    var endpoints: Endpoints? { state.withLock { $0.endpoints } }

    /// A group of writes that takes longer shows that the disk does not answer.
    private static let ledgerHangsAfter: Duration = .seconds(10)

    /// The reason why no message can be carried out now, independent of the gateways; nil if there is none.
    var obstacle: String? {
        let troubles = troubles
        let busy = ledger.busyTime(at: .current())
        if busy >= Self.ledgerHangsAfter {
            let fault = state.withLock { $0.fault?.description }
            return "the ledger has waited \(busy.components.seconds) s for "
                + (node == nil
                    ? "the disk: check the disk of \(dependencies.directory)"
                    : "the database: \(fault ?? "check it")")
        }
        let ofNode = node?.obstacle ?? node?.isolation
        return state.withLock { state in
            state.fault?.description ?? ofNode ?? troubles.everywhere.first
                ?? (state.isTakingIn ? nil : "intake is closed")
        }
    }

    var troubles: RouterTroubles { routerTroubles.withLock { $0 } }

    private func healthChanged(_ fault: LedgerFault?) {
        state.withLock { $0.fault = fault }
        router.healthChanged(fault)
        intake.setBlocked(fault)
        if let fault {
            dependencies.log.error("the ledger cannot write: producers are answered busy", [.error: fault.description])
        } else {
            dependencies.log.notice("the ledger can write again")
        }
    }

    // MARK: Gateways

    func gatewayChanged(_ gateway: Gateway?, app: AppID) { router.appChanged(app, gate: gateway) }

    /// Pauses an app or, if `time` is nil, lets it continue. Returns the fault if this cannot be stored.
    func setPaused(_ app: AppID, since time: WallTime?) async -> LedgerFault? {
        let fault = await ledger.setPaused(app, since: time)
        if fault == nil { router.setPaused(time != nil, app: app) }
        return fault
    }

    /// Cancels a message. Returns when the cancellation and its counts are on disk.
    func cancel(_ request: CancelRequest) async -> Cancellation {
        await withCheckedContinuation { continuation in
            front.cancel(request) { continuation.resume(returning: $0) }
        }
    }

    /// Releases the brake of an app. Returns whether it was on.
    func releaseBrake(of app: AppID) async throws -> Bool {
        do {
            return try await feedback.releaseBrake(of: app)
        } catch let error as FeedbackError {
            throw Problem(.unavailable, detail: error.description)
        }
    }

    func announce(_ event: EventDraft) { ledger.note([event], done: nil) }

    // MARK: Upkeep

    private func beginUpkeep(_ loop: EventLoop) async {
        let timer = await loop.run { [ledger] in
            LoopBound(loop.scheduleRepeating(every: .seconds(1)) { ledger.trim() }, on: loop)
        }
        state.withLock { $0.timer = timer }
    }

    /// Applies changed rights, apps and retention.
    ///
    /// When it returns, they are in force for all further messages and events, on existing and on new connections.
    func reload(_ configuration: Configuration) async throws {
        let directory = configuration.security.directory
        // This comes first, so that a connection that is ended below cannot reconnect.
        try intakeKeys?.admit(directory.users)
        try eventKeys?.admit(directory.users)
        ledger.keep(configuration.ledgerRetention)
        router.expire(after: configuration.intake.expireAfter)
        refusedHandshakes.directory = directory
        intake.update(apps: configuration.appTable, rights: directory.rights)
        intake.update(limits: configuration.appLimits, window: configuration.dedupe.window)
        await bus.replaceObservers(configuration.observers)
        await intake.loop.run {}
    }

    // MARK: Stop

    /// Stops intake and router: no more messages are accepted, and no more deliveries are handed out.
    func stopTakingIn(within: Duration) async {
        state.withLock { $0.isTakingIn = false }
        ledger.beginEnd()
        await intake.stop(within: within)
        // Other nodes continue with the partitions while deliveries of this one end.
        await node?.drain(within: within)
        router.stop()
    }

    /// Writes and publishes the last outcomes and closes everything. Called after the gateways have ended.
    func close() async {
        state.withLock { $0.isTakingIn = false }
        ledger.beginEnd()
        if let timer = state.withLock({ $0.timer.take() }) {
            await timer.loop.run { timer.loop.cancel(timer.wrapped) }
        }
        await intake.stop(within: .zero)
        await router.drain()
        await feedback.stop()
        await ledger.flush()
        // Until here, the lease is renewed, so that the last outcomes can be written.
        await node?.leave()
        await follower.stop()
        await bus.stop()
        await registry.close()
        let status = await ledger.status()
        state.withLock { $0.left = Backlog(waiting: status.waiting, scheduled: status.scheduled) }
        await ledger.close()
        await contexts.terminate()
    }
}
