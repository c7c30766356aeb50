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
        let zones: SharedTimeZones
        /// Ends the server, because this node cannot be a member of its cluster any more.
        let halt: @Sendable () -> Void

        /// The loop of incoming work. With several loops, outgoing work runs on another one.
        var front: EventLoop { loops.loops[0] }
        /// The loop of outgoing work.
        var back: EventLoop { loops.loops[loops.loops.count - 1] }
    }

    private let stores: Stores
    /// The ledger of this process.
    let ledger: any LedgerEngine
    /// The ledger for producers. In a cluster, it passes requests on to the owners of their partitions.
    private let intakeLedger: any Ledger
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
    var node: ServedNode? { stores.node }
    /// The right to send, which can end in a cluster; nil on a single node.
    var permit: SendingPermit? { node?.permit }
    /// The time by which messages expire and are due.
    let clock: SharedClock
    /// The time by which messages expire, and tokens and requests are signed. In a cluster, it is that of the database.
    var wallClock: @Sendable () -> WallTime { { [clock] in clock.now } }
    /// The place of the key that encrypts the secrets of API keys.
    var sealing: SealingKeySource { stores.sealing }

    /// Whether messages at a local time can be accepted with a configuration.
    func storesLocalTimes(of configuration: Configuration) -> Bool {
        configuration.localTimeFault == nil && stores.familyFault == nil
    }
    /// The numbers of messages that were waiting when the ledger was opened.
    let recovered: Backlog
    /// The apps that operators have paused, as of the start.
    var pausedAtOpen: [AppID: WallTime] { stores.backlog.paused }
    /// The number of erasures of users that had not ended when the ledger was opened.
    var openErasures: Int { stores.backlog.openErasures }
    private let follower: RegistryFollower
    private let dependencies: Dependencies
    private let admission: PipelineAdmission
    var refusedHandshakes: RefusedHandshakes { admission.refused }
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
        var tidying: Task<Void, Never>?
    }

    /// Opens the files and the sockets for monitors, and gives the waiting messages to the router.
    ///
    /// Nothing is sent before an app has a gateway, and no message is accepted before ``openIntake()``.
    static func open(_ configuration: Configuration, on dependencies: Dependencies) async throws -> Pipeline {
        let clock = SharedClock()
        let admission = try await PipelineAdmission.open(configuration.security, log: dependencies.log)
        let stores: Stores
        do {
            stores = try await openStores(configuration, on: dependencies, clock: clock)
        } catch {
            await admission.end()
            throw error
        }
        let pipeline = await Pipeline(
            configuration, on: dependencies, admission: admission, stores: stores, clock: clock)
        try await pipeline.begin()
        return pipeline
    }

    private static func openStores(
        _ configuration: Configuration, on dependencies: Dependencies, clock: SharedClock
    ) async throws -> Stores {
        if configuration.store == nil {
            InstallationFacts.reportLoss(in: dependencies.directory, to: dependencies.log)
        }
        return try await Stores.open(
            configuration, configuration.ledgerRetention,
            on: Stores.Dependencies(
                directory: dependencies.directory, version: Release.version, loop: dependencies.front,
                resolver: dependencies.resolver, log: dependencies.log,
                commits: dependencies.metrics.histogram(
                    "carillon_ledger_commit_seconds",
                    help: "Duration of the commits of the ledger, including the sync."),
                clock: clock, halt: dependencies.halt))
    }

    /// Creates the parts of an open ledger and connects them. None of them works yet.
    private init(
        _ configuration: Configuration, on dependencies: Dependencies, admission: PipelineAdmission, stores: Stores,
        clock: SharedClock
    ) async {
        let (ledger, registry, log) = (stores.ledger, stores.registry, dependencies.log)
        (self.dependencies, self.admission, self.stores, self.clock) = (dependencies, admission, stores, clock)
        (self.ledger, self.registry) = (ledger, registry)
        intakeLedger = stores.node?.intake ?? ledger
        receipts = stores.node?.receipts ?? ledger
        let status = await ledger.status()
        recovered = Backlog(waiting: status.waiting, scheduled: status.scheduled)
        seen = SeenReports(ledger)
        outcomes = OutcomeCounts(clock: { clock.now })
        let back = dependencies.back
        let feedback = Feedback(
            on: back, registry: registry, ledger: ledger, identities: ledger.identities, board: stores.node?.board,
            wallClock: { clock.now }, log: log)
        self.feedback = feedback
        stores.node?.whenSharedRead { [weak feedback] in feedback?.take($0) }
        let troubles = Locked(RouterTroubles())
        routerTroubles = troubles
        var routing = Router.Settings(
            configuration, clock: clock, zones: dependencies.zones, outcomes: outcomes, feedback: feedback,
            troubles: troubles, log: log)
        routing.activityWaits = ledger.activityWaits
        let router = await back.run { [routing] in
            Router(on: back, ledger: ledger, registry: registry, identities: ledger.identities, settings: routing)
        }
        self.router = router
        let heads = ledger.heads().first
        bus = EventBus(
            on: dependencies.front, in: admission.events, log: ledger,
            settings: EventBusSettings(
                configuration, admission, limits: dependencies.limits, node: stores.node, log: log),
            last: heads?.newest ?? 0, heads: heads?.topics ?? [])
        intake = Intake(
            on: dependencies.front, context: admission.intake, ledger: intakeLedger,
            settings: IntakeSettings(
                configuration, admission, limits: dependencies.limits, node: stores.node,
                familyFault: stores.familyFault, zones: dependencies.zones.current, log: log),
            backlog: { router.unfinished }, load: { ledger.load(of: $0) }, wallClock: { clock.now })
        follower = RegistryFollower(registry, log: ledger) { error in
            log.warning("registry cannot apply device events, retrying", [.error: "\(error)"])
        }
    }

    /// Opens the sockets for monitors, and hands what waits in the ledger to the parts. If that fails, all is closed.
    private func begin() async throws {
        for app in pausedAtOpen.keys { router.setPaused(true, app: app) }
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
                router: router, bus: bus, follower: follower, waiting: waiting,
                heads: { [ledger] in ledger.heads(of: $0) }, health: { [weak self] in self?.healthChanged($0) }))
        await registry.publishOwed()
        // Its number is below those of the deliveries that begin now.
        if let restored = stores.backlog.restored { announce(restored.event) }
        if node == nil { router.backlog(stores.backlog) }
        await beginUpkeep(dependencies.front)
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

    /// Cancels a message, or those with one id in the apps of a family. Returns when the cancellations and their counts are
    /// on disk.
    func cancel(_ requests: [CancelRequest]) async -> [Cancellation] {
        let results = await withCheckedContinuation { continuation in
            intakeLedger.cancel(requests) { continuation.resume(returning: $0) }
        }
        intake.count(Cancellation(of: results))
        return results
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
        let tidying = Task { [registry, ledger, log = dependencies.log] in
            await registry.keepTidy(by: ledger.age, log: log)
        }
        state.withLock { state in
            state.timer = timer
            state.tidying = tidying
        }
    }

    /// Applies changed rights, apps and retention.
    ///
    /// When it returns, they are in force for all further messages and events, on existing and on new connections.
    func reload(_ configuration: Configuration) async throws {
        let directory = configuration.security.directory
        // This comes first, so that a connection that is ended below cannot reconnect.
        try admission.admit(directory)
        ledger.keep(configuration.ledgerRetention)
        router.expire(after: configuration.intake.expireAfter)
        refusedHandshakes.directory = directory
        intake.update(
            apps: configuration.appTable(familyFault: stores.familyFault, zones: dependencies.zones.current),
            rights: directory.rights)
        intake.update(limits: configuration.appLimits, window: configuration.dedupe.window)
        stores.addressLimits.replaceAll(with: configuration.addressLimits)
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
        let tidying = state.withLock { $0.tidying.take() }
        tidying?.cancel()
        await tidying?.value
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
        await admission.end()
    }
}

extension LedgerEngine {
    /// What the messages of an app occupy, with those that are being written.
    fileprivate func load(of app: AppID) -> AppLoad {
        let held = projectedBacklog(of: app)
        return AppLoad(waiting: held.waiting, scheduled: held.scheduled)
    }
}
