package import PushLoop
package import PushModel
package import PushTime
package import PushTransport
package import PushWire

/// The producers' side of the pipeline: receives requests over ZeroMQ, writes them to the ledger, and answers them.
///
/// The actor is pinned to its loop. All requests of a tick go to the ledger as one group, and all acks go out together
/// when the ledger has replied. Nothing is acknowledged before that. A ROUTER socket is always read; when there is no
/// room, the request is answered `busy`. A PULL socket cannot answer, so it is not read until there is room, which
/// holds its peers back.
package actor Intake {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// The socket on which a message arrived.
    enum Source {
        case router(isSecured: Bool)
        case pull(isSecured: Bool)

        var isSecured: Bool {
            switch self {
            case .router(let isSecured), .pull(let isSecured): isSecured
            }
        }
    }

    private let context: ZMQContext
    let ledger: any Ledger
    let settings: IntakeSettings
    let limits: PipelineLimits
    private let backlog: @Sendable () -> Int
    let load: @Sendable (AppID) -> AppLoad
    let wallClock: @Sendable () -> WallTime

    var sockets = IntakeSockets()
    var reader: EnvelopeReader
    var callers: IntakeCallers
    var quotas: AppQuotas

    var group = RequestGroup()
    var tally = IntakeCounts()
    /// The requests that were handed to the ledger and are not answered, including those in ``pullHold``.
    var unanswered = (count: 0, bytes: 0)
    var pullHold = PullHold()
    var acks: DelayedAcks
    /// The text of the ack that is being written.
    var answer: [UInt8] = []
    var budgets = RejectionBudgets()
    /// When the log last reported that the ledger rejects new messages although the disk can be written.
    var failureSaidAt: MonotonicTime?
    var notes: [EventDraft] = []

    private(set) var run = IntakeRun()
    private(set) var fault: LedgerFault?
    private var isFlushAsked = false
    private(set) var phase = IntakePhase.new

    /// - Parameters:
    ///   - backlog: returns the number of messages in the whole pipeline that were accepted and are not done. Intake
    ///     calls it on the loop, once for each run of messages.
    ///   - load: returns what an app holds. Intake calls it on the loop, at most once for each app and run of messages.
    package init(
        on loop: EventLoop, context: ZMQContext, ledger: any Ledger, settings: IntakeSettings,
        backlog: @escaping @Sendable () -> Int = { 0 },
        load: @escaping @Sendable (AppID) -> AppLoad = { _ in AppLoad() },
        wallClock: @escaping @Sendable () -> WallTime = { .current() }
    ) {
        self.init(
            on: loop, context: context, ledger: ledger, settings: settings, waiting: WaitingAcks(), backlog: backlog,
            load: load, wallClock: wallClock)
    }

    /// Creates an intake with its own bounds for acks that wait. Tests use it.
    init(
        on loop: EventLoop, context: ZMQContext, ledger: any Ledger, settings: IntakeSettings, waiting: WaitingAcks,
        backlog: @escaping @Sendable () -> Int = { 0 },
        load: @escaping @Sendable (AppID) -> AppLoad = { _ in AppLoad() },
        wallClock: @escaping @Sendable () -> WallTime = { .current() }
    ) {
        self.loop = loop
        self.context = context
        self.ledger = ledger
        self.settings = settings
        acks = DelayedAcks(waiting: waiting)
        self.backlog = backlog
        self.load = load
        self.wallClock = wallClock
        limits = settings.limits
        callers = IntakeCallers(rights: settings.rights)
        quotas = AppQuotas(limits: settings.appLimits, window: settings.window)
        reader = EnvelopeReader(apps: settings.apps)
    }

    // MARK: Any thread

    /// Replaces apps and rights. They apply to the next message.
    package nonisolated func update(apps: AppTable, rights: Rights) {
        enter {
            $0.reader = EnvelopeReader(apps: apps)
            $0.callers = IntakeCallers(rights: rights)
            // The budgets of removed clients and apps would otherwise stay in memory.
            $0.budgets = RejectionBudgets()
        }
    }

    /// Reports that the ledger cannot write, or with nil that it can again. Until then every request is answered
    /// `busy`.
    package nonisolated func setBlocked(_ fault: LedgerFault?) {
        enter {
            $0.fault = fault
            $0.feelPressure()
        }
    }

    /// Counts a cancellation that did not come over a socket of intake.
    package nonisolated func count(_ cancellation: Cancellation) {
        enter { $0.tally.count(cancellation) }
    }

    /// Replaces the limits of apps. They apply to the next message.
    package nonisolated func update(limits: [AppID: AppLimits], window: Duration) {
        enter {
            $0.quotas.replaceLimits(limits)
            $0.quotas.window = window
        }
    }

    private nonisolated func enter(_ work: @escaping @Sendable (isolated Intake) -> Void) {
        loop.executeUnlessStopped { self.assumeIsolated(work) }
    }

    // MARK: Isolated

    /// Binds the sockets. If one of them cannot be bound, neither stays bound.
    package func open() throws(ZMQError) -> IntakeEndpoints {
        precondition(sockets.isEmpty && !phase.isClosed, "intake can be opened only once")
        sockets.connectionGuard = ZMQGuard(limits: settings.connectionLimits, report: settings.connectionEvents)
        do throws(ZMQError) {
            var places: (router: String?, pull: String?)
            if let endpoint = settings.router {
                let (socket, place) = try bind(.router, endpoint)
                sockets.router = socket
                places.router = place
            }
            if let endpoint = settings.pull {
                let (socket, place) = try bind(.pull, endpoint)
                sockets.pull = socket
                places.pull = place
            }
            phase = .open
            return IntakeEndpoints(router: places.router, pull: places.pull)
        } catch {
            closeSockets()
            throw error
        }
    }

    /// Stops intake: requests that still arrive are answered `busy`. Returns when the ledger has replied to all
    /// requests and the acks are sent, or when `within` has passed.
    package func stop(within: Duration) async {
        guard !phase.isClosed else { return }
        phase.stop()
        feelPressure()
        endIfIdle()
        guard !phase.isClosed else { return }
        let deadline = loop.schedule(after: within) { [weak self] in
            self?.assumeIsolated { $0.close() }
        }
        await withCheckedContinuation { phase.await($0) }
        loop.cancel(deadline)
    }

    package var counts: IntakeCounts {
        var counts = tally
        counts.unanswered = unanswered.count
        counts.unansweredBytes = unanswered.bytes
        counts.waitingAcks = acks.waiting.count
        counts.isPullPaused = pullHold.isPaused
        counts.connections = sockets.connectionGuard?.gate.open ?? 0
        return counts
    }

    // MARK: Sockets

    private func bind(_ kind: ZMQSocket.Kind, _ endpoint: String) throws(ZMQError) -> (ZMQSocket, String) {
        var options = ZMQSocketOptions()
        options.maxFrameSize = IntakeSettings.maxFrameSize
        options.ipcMode = settings.ipcMode
        options.security = settings.security(of: endpoint, for: kind == .router ? .router : .pull).ofServer
        options.usesIPv6 = endpoint.hasPrefix("tcp://[")
        // Messages are large, so only few of them may wait. A lower mark would cost more per message than it saves.
        options.receiveHighWaterMark = 256
        options.work = WorkNote("messages at intake, \(kind == .router ? "ROUTER" : "PULL")")
        options.ignoresResets = true
        if kind == .router {
            // A producer that restarts under its old routing id takes over its old connection. With CURVE the ZAP
            // handler gives each connection a routing id of its own, so handover stays off: a connection cannot take
            // over another one by mistake.
            options.routerHandover = !options.security.isServer
        }
        let socket = try ZMQSocket(kind, in: context, on: loop, options: options)
        let isSecured = options.security.isServer
        let source: Source = kind == .router ? .router(isSecured: isSecured) : .pull(isSecured: isSecured)
        socket.onMessage = { [unowned self] message in
            receive(RequestFrames(message, total: message.count, from: source), from: source)
        }
        socket.onMalformed = { [unowned self] message, count in
            receive(RequestFrames(message, total: count, from: source), from: source)
        }
        socket.onBatchEnd = { [unowned self] in endRun() }
        socket.onTerminated = { [unowned self] in close() }
        do throws(ZMQError) {
            try sockets.connectionGuard?.watch(socket)
            return (socket, try socket.bind(endpoint))
        } catch {
            socket.close()
            throw error
        }
    }

    private func closeSockets() {
        sockets.close()
    }

    private func close() {
        guard !phase.isClosed else { return }
        let waiters = phase.close()
        closeSockets()
        for timer in [pullHold.timer, acks.timer] { if let timer { loop.cancel(timer) } }
        tally.droppedAcks += UInt64(acks.waiting.removeAll())
        tally.abandoned += UInt64(pullHold.requests.count)
        unanswered.count -= pullHold.count
        pullHold.requests = []
        for waiter in waiters { waiter.resume() }
    }

    func endIfIdle() {
        if phase.isEnding, group.isEmpty, unanswered.count == pullHold.count, acks.waiting.isEmpty {
            close()
        }
    }

    // MARK: A run of messages

    func beginRun() {
        guard !run.isBegun else { return }
        run.isBegun = true
        run.number &+= 1
        run.now = wallClock().unixSeconds
        run.backlog = backlog()
    }

    private func endRun() {
        run.isBegun = false
        feelPressure()
        askForFlush()
    }

    func askForFlush() {
        if isFlushAsked { return }
        isFlushAsked = true
        loop.flushAtTickEnd(self)
    }

    private func flush() {
        isFlushAsked = false
        // Calls have no end of their own, unlike messages of a socket.
        run.isBegun = false
        handInGroup()
    }

    /// Hands the notes and requests of the tick so far to the ledger.
    func handInGroup() {
        if !notes.isEmpty {
            ledger.note(notes, done: nil)
            notes = []
        }
        guard !group.isEmpty else { return }
        let group = self.group
        self.group = RequestGroup()
        // A busy tick brings about as many requests as the one before.
        self.group.reserve(group.requests.count)
        tally.groups += 1
        let split = RequestSplit(group.requests)
        ledger.accept(split?.requests ?? group.requests) { answers in
            let acceptances = split?.joined(answers) ?? GroupAcceptances(all: answers)
            // After `stop` the loop may have ended, and nobody needs the reply.
            self.loop.executeUnlessStopped { self.assumeIsolated { $0.answered(group, acceptances) } }
        }
    }

    // MARK: Pressure

    /// Whether intake has no room for one more request.
    var isFull: Bool {
        unanswered.count >= limits.unanswered || unanswered.bytes >= limits.unansweredBytes
            || run.backlog + unanswered.count >= 2 * limits.backlog || fault != nil || phase.isEnding
    }

    /// Whether intake is full or nearly full. A paused PULL resumes only when a quarter of each limit is free.
    private var isStillFull: Bool {
        4 * unanswered.count > 3 * limits.unanswered || 4 * unanswered.bytes > 3 * limits.unansweredBytes
            || 4 * (run.backlog + unanswered.count) > 3 * 2 * limits.backlog || fault != nil || phase.isEnding
    }

    /// The delay that a `busy` ack asks for.
    var retryAfter: Duration { fault == nil ? limits.retryAfter : Self.retryAfterFault }
    static let retryAfterFault = Duration.seconds(1)

    /// Pauses or resumes the PULL socket depending on load.
    func feelPressure() {
        guard let pull = sockets.pull, !phase.isClosed else { return }
        if pullHold.isPaused {
            run.backlog = backlog()
            if pullHold.requests.isEmpty, !pullHold.isRetrying, !isStillFull {
                pullHold.isPaused = false
                pull.resumeReceiving()
            }
        } else if isFull || !pullHold.requests.isEmpty {
            pullHold.isPaused = true
            pull.pauseReceiving()
        }
        // No notification arrives when the backlog shrinks, so a timer checks it.
        guard pullHold.isPaused, pullHold.timer == nil else { return }
        pullHold.timer = loop.schedule(
            after: pullHold.requests.isEmpty && !pullHold.isRetrying ? limits.retryAfter : Self.retryAfterFault
        ) {
            [weak self] in
            self?.assumeIsolated {
                $0.pullHold.timer = nil
                $0.handInHeld()
                $0.feelPressure()
            }
        }
    }

    /// Hands the requests to the ledger again that it could not write before.
    private func handInHeld() {
        guard fault == nil, !phase.isEnding, !pullHold.requests.isEmpty else { return }
        for request in pullHold.requests { group.add(request) }
        pullHold.requests = []
        group.isRetry = true
        pullHold.isRetrying = true
        askForFlush()
    }

    // MARK: Waiting acks

    /// Schedules another attempt to send waiting acks. ZeroMQ does not report when a producer with a full queue has
    /// read, so the delay doubles for as long as no ack can be sent.
    func retryAcksLater() {
        guard acks.timer == nil, !acks.waiting.isEmpty else { return }
        acks.timer = loop.schedule(after: acks.delay) { [weak self] in
            self?.assumeIsolated { $0.retryAcks() }
        }
    }

    private func retryAcks() {
        acks.timer = nil
        let (sent, dropped) = acks.waiting.retry(now: loop.now) { identity, ack in
            unsafe identity.withUnsafeBytes { unsafe transmit(ack.kind, ack.text, to: $0, via: ack.route) }
        }
        tally.droppedAcks += UInt64(dropped)
        acks.delay = sent > 0 ? DelayedAcks.minDelay : min(acks.delay * 2, DelayedAcks.maxDelay)
        if acks.waiting.isEmpty { acks.delay = DelayedAcks.minDelay }
        retryAcksLater()
        endIfIdle()
    }
}

extension Intake: TickEndFlushing {
    package nonisolated func flushAtTickEnd() {
        assumeIsolated { $0.flush() }
    }
}
