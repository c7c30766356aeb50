package import PushLogic
package import PushLoop
package import PushModel
import Synchronization

/// Carries out what was accepted: finds each message's devices, gives gateways what they have credit for, and says what
/// became of it.
///
/// It is pinned to its loop. Its machine decides; at the end of each tick that brought something, the router does what
/// the machine answers, in batches. What waits is on disk: nothing here is lost with the process.
package actor Router {
    package struct Settings: Sendable {
        package var policy = RouterPolicy()
        package var wallClock: @Sendable () -> WallTime = { .current() }
        /// Devices that providers called dead. Called on the router's loop.
        package var deactivation: @Sendable ([DeactivationCandidate]) -> Void = { _ in }
        /// What keeps the router from going on has changed: what there was, and what there is. Called on the router's
        /// loop.
        package var troublesChanged: @Sendable (RouterTroubles, RouterTroubles) -> Void = { _, _ in }
        /// A message that was acknowledged turned out to be damaged. Called on the router's loop.
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
    private let settings: Settings
    var machine: RouterMachine
    /// By the places that the machine gave out.
    private var gates: [(any DeliveryGate)?] = []
    private var isFlushAsked = false
    private var timer: TimerID?
    private var armedFor: MonotonicTime?
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []
    package private(set) var troubles = RouterTroubles()
    /// Pages that the registry was asked for.
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
            settings.policy, identities: identities, inactive: registry.inactive,
            now: MonotonicTime(nanoseconds: 0), wall: settings.wallClock())
    }

    // MARK: Any thread

    /// Messages that were accepted, are not scheduled for later, and are not done. As of the last tick.
    package nonisolated var unfinished: Int { unfinishedCount.load(ordering: .relaxed) }

    /// What the ledger has taken, in the order in which it took it.
    package nonisolated func accepted(_ messages: [AcceptedMessage]) {
        enter { $0.machine.accepted(messages) }
    }

    /// What waited when the ledger was opened. Before anything is accepted.
    package nonisolated func backlog(_ backlog: LedgerBacklog) {
        enter { $0.machine.backlog(backlog) }
    }

    /// From an app's gateway: what has ended there, and what it wants next.
    package nonisolated func report(_ report: GatewayReport) {
        enter { $0.machine.reported(report) }
    }

    /// An app has a gateway from now on, or another one, or none: then its messages wait. What the old one still has,
    /// it reports.
    package nonisolated func appChanged(_ app: AppID, gate: (any DeliveryGate)?) {
        enter { router in
            let place = router.machine.gateChanged(
                app, isThere: gate != nil, source: gate.map { ObjectIdentifier($0) })
            while router.gates.count <= place { router.gates.append(nil) }
            router.gates[place] = gate
        }
    }

    /// Whether the ledger can write. While it cannot nothing new goes out: what became of it could not be kept.
    package nonisolated func healthChanged(_ fault: LedgerFault?) {
        enter { $0.machine.healthChanged(fault) }
    }

    /// How long a message without `expires_at` may wait.
    package nonisolated func expire(after oldest: Duration) {
        enter { $0.machine.policy.oldest = oldest }
    }

    /// Gives out no more. What is with gateways is still taken back and recorded; what waits is on disk.
    package nonisolated func stop() {
        enter { $0.machine.stop() }
    }

    private nonisolated func enter(_ work: @escaping @Sendable (isolated Router) -> Void) {
        loop.execute { self.assumeIsolated { $0.take(work) } }
    }

    /// For answers of the ledger, which may come after everybody has gone.
    nonisolated func answer(_ work: @escaping @Sendable (isolated Router) -> Void) {
        loop.executeUnlessStopped { self.assumeIsolated { $0.take(work) } }
    }

    // MARK: Isolated

    /// Gives out no more, and returns when every delivery that is out has come back and was handed to the ledger.
    package func drain() async {
        take { $0.machine.stop() }
        if machine.out == 0 {
            flush()
        } else {
            await withCheckedContinuation { drainWaiters.append($0) }
        }
        // They hold whoever they report to.
        gates = []
    }

    package func status() -> RouterStatus { machine.status() }

    /// Ends what waits of an app that has no gateway. Returns how many messages those are; nil where there is a gateway,
    /// or nothing ever waited.
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

    // MARK: The tick's end

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
        if actions.hasRecords { ledger.record(actions.records, completed: actions.completed) }
        for fault in actions.damaged { settings.damaged(fault) }
        if !actions.candidates.isEmpty { settings.deactivation(actions.candidates) }
        for submission in actions.submissions {
            guard submission.place < gates.count, let gate = gates[submission.place] else {
                preconditionFailure("router: deliveries for an app that has no gateway")
            }
            gate.submit(submission.deliveries)
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
