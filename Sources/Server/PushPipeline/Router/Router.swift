package import PushLogic
package import PushLoop
package import PushModel
package import PushTime
import Synchronization

/// Delivers accepted messages: finds the devices of each message, gives gateways as many deliveries as they have credit
/// for, and records the results.
///
/// The actor is pinned to its loop. Its `RouterMachine` decides; at the end of each tick with input, the router
/// executes the machine's actions in batches. Waiting messages are on disk, so nothing is lost with the process.
package actor Router {
    package struct Settings: Sendable {
        package var policy = RouterPolicy()
        package var wallClock: @Sendable () -> WallTime = { .current() }
        /// The Live Activities without a known address, which the ledger counts.
        package var activityWaits: any ActivityWaits = NoActivityWaits()
        /// The time zones in which messages go out at a local time.
        package var zones: @Sendable () -> TimeZones = { .none }
        /// Called on the router's loop with outcomes and completed messages, before the ledger gets them.
        package var recorded: @Sendable ([DeliveryRecord], [CompletedMessage]) -> Void = { _, _ in }
        /// Called on the router's loop with the answers of push services, and the devices that they reported as dead.
        package var answered: @Sendable ([ProviderAnswers]) -> Void = { _ in }
        /// Called on the router's loop when the conditions that block the router have changed, with the old and the new
        /// ones.
        package var troublesChanged: @Sendable (RouterTroubles, RouterTroubles) -> Void = { _, _ in }
        /// Called on the router's loop when an acknowledged message turns out to be damaged.
        package var damaged: @Sendable (LedgerFault) -> Void = { _ in }

        package init(_ limits: PipelineLimits = PipelineLimits()) {
            policy.loadedMessages = limits.loadedMessages
            policy.loadedBytes = limits.loadedBytes
            policy.underWay = limits.underWay
        }
    }

    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    let ledger: any Ledger
    let registry: any DeviceRegistry
    let settings: Settings
    var machine: RouterMachine
    /// The gates, by the indices that the machine assigned to the apps.
    private var gates: [(any DeliveryGate)?] = []
    private var isFlushAsked = false
    private var timer: TimerID?
    private var armedFor: MonotonicTime?
    /// The calls that wait until a part is closed.
    private var closings: [PartitionID: [@Sendable () -> Void]] = [:]
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []
    package private(set) var troubles = RouterTroubles()
    /// The number of pages that the registry has been asked for and has not returned.
    package internal(set) var pagesAwaited = 0
    private nonisolated let unfinishedCount = Atomic<Int>(0)

    package init(
        on loop: EventLoop, ledger: any Ledger, registry: any DeviceRegistry, identities: Identities,
        settings: Settings = Settings()
    ) {
        self.loop = loop
        self.ledger = ledger
        self.registry = registry
        self.settings = settings
        machine = RouterMachine(
            settings.policy, identities: identities, inactive: registry.inactive, erased: registry.erased,
            ofOtherKinds: registry.ofOtherKinds, ownerChanges: registry.ownerChanges,
            now: MonotonicTime(nanoseconds: 0), wall: settings.wallClock(), activityWaits: settings.activityWaits)
        registry.observeActivities { [weak self] in self?.registered($0) }
        settings.activityWaits.observeRefusals { [weak self] in self?.askAboutRefused() }
    }

    // MARK: Any thread

    /// The number of messages that were accepted, are not scheduled for later, and are not done, as of the last tick.
    package nonisolated var unfinished: Int { unfinishedCount.load(ordering: .relaxed) }

    /// Takes messages that the ledger has accepted, in the order of acceptance.
    package nonisolated func accepted(_ messages: [AcceptedMessage]) {
        enter { $0.machine.accepted(messages) }
    }

    /// Stops the messages that were cancelled, and answers to the ledger.
    package nonisolated func cancelled(_ orders: [CancelOrder]) {
        answer { $0.machine.cancelled(orders) }
    }

    /// Pauses an app, or lets it continue.
    package nonisolated func setPaused(_ isPaused: Bool, app: AppID) {
        enter { $0.machine.setPaused(isPaused, app: app) }
    }

    /// Takes the messages that waited when the ledger was opened. Called before any message is accepted.
    package nonisolated func backlog(_ backlog: LedgerBacklog) {
        enter { $0.machine.backlog(backlog) }
    }

    /// Takes the messages that wait in a part of the ledger, which this process carries out from now on.
    package nonisolated func opened(_ part: PartitionID, _ backlog: LedgerBacklog) {
        enter { $0.machine.opened(part, backlog) }
    }

    /// Stops everything of a part of the ledger. Calls `done` on the router's loop when nothing of it is in memory any
    /// more and all outcomes were handed to the ledger.
    package nonisolated func closed(_ part: PartitionID, done: @escaping @Sendable () -> Void) {
        answer { router in
            router.closings[part, default: []].append(done)
            router.machine.closed(part)
        }
    }

    /// Stops sending for a while, or goes on. What waits stays as it is.
    package nonisolated func suspended(_ isSuspended: Bool) {
        enter { $0.machine.suspended(isSuspended) }
    }

    /// Forgets a user: messages in memory do not name the user any more when they are carried out.
    package nonisolated func erase(_ erasure: UserErasure) {
        enter { $0.machine.erase(erasure) }
    }

    /// Takes a report of an app's gateway: the deliveries that have ended, and the gateway's new credit.
    package nonisolated func report(_ report: GatewayReport) {
        enter { $0.machine.reported(report) }
    }

    private nonisolated func registered(_ activity: ActivityRegistration) {
        answer { $0.machine.registered(activity) }
    }

    /// Sets or replaces the gateway of an app, or removes it with nil; then the app's messages wait. A replaced gateway
    /// still reports the deliveries that it has.
    package nonisolated func appChanged(_ app: AppID, gate: (any DeliveryGate)?) {
        enter { router in
            let index = router.machine.gateChanged(
                app, isThere: gate != nil, source: gate.map { ObjectIdentifier($0) })
            while router.gates.count <= index.position { router.gates.append(nil) }
            router.gates[index.position] = gate
        }
    }

    /// Reports whether the ledger can write. While it cannot, no delivery starts, because its result could not be
    /// recorded.
    package nonisolated func healthChanged(_ fault: LedgerFault?) {
        enter { $0.machine.healthChanged(fault) }
    }

    /// Sets how long a message without `expires_at` may wait.
    package nonisolated func expire(after lifetime: Duration) {
        enter { $0.machine.policy.expiry.unlimited = lifetime }
    }

    /// Stops giving out deliveries. Results from gateways are still recorded; waiting messages are on disk.
    package nonisolated func stop() {
        enter { $0.machine.stop() }
    }

    private nonisolated func enter(_ work: @escaping @Sendable (isolated Router) -> Void) {
        loop.execute { self.assumeIsolated { $0.take(work) } }
    }

    /// Enters the loop with a result of the ledger or registry, unless the loop has stopped.
    nonisolated func answer(_ work: @escaping @Sendable (isolated Router) -> Void) {
        loop.executeUnlessStopped { self.assumeIsolated { $0.take(work) } }
    }

    // MARK: Isolated

    /// Stops giving out deliveries. Returns when all deliveries have come back from gateways and their results were
    /// handed to the ledger.
    package func drain() async {
        take { $0.machine.stop() }
        if machine.out == 0 {
            flush()
        } else {
            await withCheckedContinuation { drainWaiters.append($0) }
        }
        // The gates have references to the objects that they report to; releasing them breaks the cycle.
        gates = []
    }

    package func status() -> RouterStatus { machine.status() }

    /// Returns what waits, for each app that the router knows.
    package func waits() -> [AppWaits] { machine.waits() }

    /// Returns how far the message with this number is; nil if it is not in memory.
    package func progress(of seq: UInt64) -> MessageProgress? { machine.progress(of: seq) }

    /// The time at which the next scheduled message is due; nil if none is scheduled.
    package var nextDue: UnixSeconds? { machine.nextDue }

    /// Ends the waiting messages of an app without a gateway. Returns their number; nil if the app has a gateway, or
    /// never had a message.
    package func drop(_ app: AppID) -> Int? {
        var count: Int?
        take { count = $0.machine.drop(app) }
        return count
    }

    func take(_ work: (isolated Router) -> Void) {
        if !isFlushAsked {
            isFlushAsked = true
            machine.tick(now: loop.now, wall: settings.wallClock())
            loop.flushAtTickEnd(self)
        }
        work(self)
    }

    // MARK: End of the tick

    private func flush() {
        isFlushAsked = false
        machine.tick(now: loop.now, wall: settings.wallClock())
        let (actions, hasMore) = machine.run()
        unfinishedCount.store(machine.unfinished, ordering: .relaxed)
        carryOut(actions)
        tellTroubles()
        if hasMore { take { _ in } }
        arm()
        if !drainWaiters.isEmpty, machine.out == 0 {
            for waiter in drainWaiters { waiter.resume() }
            drainWaiters = []
        }
    }

    private func carryOut(_ actions: RouterActions) {
        settings.recorded(actions.earlierRecords, actions.earlierCompleted)
        settings.recorded(actions.records, actions.completed)
        actions.record(in: ledger)
        for part in actions.closed { for done in closings.removeValue(forKey: part) ?? [] { done() } }
        for fault in actions.damaged { settings.damaged(fault) }
        if !actions.answers.isEmpty { settings.answered(actions.answers) }
        if !actions.updated.isEmpty { registry.updated(actions.updated) }
        for submission in actions.submissions {
            let position = submission.app.position
            guard position < gates.count, let gate = gates[position] else {
                preconditionFailure("router: deliveries for an app that has no gateway")
            }
            gate.submit(submission.deliveries)
        }
        for recall in actions.recalls where recall.app.position < gates.count {
            gates[recall.app.position]?.recall(recall.number)
        }
        ask(actions)
    }

    private func tellTroubles() {
        let now = machine.troubles
        guard now != troubles else { return }
        let before = troubles
        troubles = now
        settings.troublesChanged(before, now)
    }

    private func arm() {
        let deadline = machine.nextDeadline
        if deadline == armedFor { return }
        armedFor = deadline
        if let timer {
            if let deadline, loop.reschedule(timer, at: deadline) { return }
            loop.cancel(timer)
        }
        timer = nil
        guard let deadline else { return }
        timer = loop.schedule(at: deadline) { [weak self] in
            self?.assumeIsolated {
                $0.timer = nil
                $0.armedFor = nil
                $0.take { _ in }
            }
        }
    }
}

extension Router: TickEndFlushing {
    package nonisolated func flushAtTickEnd() {
        assumeIsolated { $0.flush() }
    }
}
