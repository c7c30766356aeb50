package import PushLoop
package import PushModel
package import PushTime
package import PushTransport
package import PushWire

/// The face to producers: takes requests over ZeroMQ, has the ledger keep them, and says what became of them.
///
/// It is pinned to its loop. What a tick brings goes to the ledger as one group; when the ledger replies, all of its
/// answers go out together. Nothing is acknowledged before that. A ROUTER is always read: what there is no room for is
/// told to come again. A PULL has no such words, so it is left unread until there is room, which holds its peers back.
package actor Intake {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Where a message came in.
    enum Door {
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

    var router: ZMQSocket?
    var pull: ZMQSocket?
    /// Of both sockets.
    private var door: ZMQDoor?
    var reader: EnvelopeReader
    var rights: Rights
    var quotas: AppQuotas
    /// The sender of the last message.
    var lastCaller: (userID: [UInt8], caller: Caller)?

    var group = RequestGroup()
    var tally = IntakeCounts()
    /// Handed in and not answered, those that are held back included.
    var unanswered = 0
    var unansweredBytes = 0
    /// Requests of a PULL that the ledger could not write: nobody would send them again.
    var held: [PushRequest] = []
    /// They were handed in again; the PULL stays unread until the ledger has said something better.
    var isRetrying = false
    var waiting: WaitingAcks
    /// The text of the answer that goes out now.
    var answer: [UInt8] = []
    var budgets = RejectionBudgets()
    /// When the log last said that the ledger takes no messages although it can write.
    var failureSaidAt: MonotonicTime?
    var notes: [EventDraft] = []

    // Of this run of messages.
    private var isRunBegun = false
    /// Seconds since 1970.
    private(set) var now: Int64 = 0
    private(set) var backlogNow = 0
    private(set) var runNumber: UInt64 = 0

    private(set) var fault: LedgerFault?
    private var isPullPaused = false
    private var isFlushAsked = false
    private var pressureTimer: TimerID?
    private var ackTimer: TimerID?
    private var ackDelay = Intake.firstAckDelay
    private var isStopping = false
    private var isClosed = false
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - backlog: the messages that wait in the whole pipeline: accepted and not done. Asked on the loop, once for
    ///     each run of messages.
    ///   - load: what an app holds. Asked on the loop, at most once for each app and run of messages.
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

    /// With other bounds for the answers that wait.
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
        self.waiting = waiting
        self.backlog = backlog
        self.load = load
        self.wallClock = wallClock
        limits = settings.limits
        rights = settings.rights
        quotas = AppQuotas(limits: settings.appLimits, window: settings.window.components.seconds)
        reader = EnvelopeReader(apps: settings.apps)
    }

    // MARK: Any thread

    /// Other apps and other rights, from the next message on.
    package nonisolated func update(apps: AppTable, rights: Rights) {
        enter {
            $0.reader = EnvelopeReader(apps: apps)
            $0.rights = rights
            $0.lastCaller = nil
            // Clients and apps that are gone leave nothing behind.
            $0.budgets = RejectionBudgets()
        }
    }

    /// That the ledger cannot write, and that it can again (nil). Until then everything is told to come again.
    package nonisolated func setBlocked(_ fault: LedgerFault?) {
        enter {
            $0.fault = fault
            $0.feelPressure()
        }
    }

    /// Other limits of apps, from the next message on.
    package nonisolated func update(limits: [AppID: AppLimits], window: Duration) {
        enter {
            $0.quotas.replaceLimits(limits)
            $0.quotas.window = window.components.seconds
        }
    }

    private nonisolated func enter(_ work: @escaping @Sendable (isolated Intake) -> Void) {
        loop.executeUnlessStopped { self.assumeIsolated(work) }
    }

    // MARK: Isolated

    /// Binds. If one of the two cannot be bound, neither is.
    package func open() throws(ZMQError) -> IntakeEndpoints {
        precondition(router == nil && pull == nil && !isClosed, "intake was opened before")
        door = ZMQDoor(limits: settings.door, tell: settings.doorNews)
        do throws(ZMQError) {
            var places: (router: String?, pull: String?)
            if let endpoint = settings.router {
                let (socket, place) = try bind(.router, endpoint)
                router = socket
                places.router = place
            }
            if let endpoint = settings.pull {
                let (socket, place) = try bind(.pull, endpoint)
                pull = socket
                places.pull = place
            }
            return IntakeEndpoints(router: places.router, pull: places.pull)
        } catch {
            closeSockets()
            throw error
        }
    }

    /// Takes no more: what still comes is told to come again. Returns when the ledger has replied to what it has and the
    /// answers are out, or when the time is over.
    package func stop(within: Duration) async {
        guard !isClosed else { return }
        isStopping = true
        feelPressure()
        endIfIdle()
        guard !isClosed else { return }
        let deadline = loop.schedule(after: within) { [weak self] in
            self?.assumeIsolated { $0.close() }
        }
        await withCheckedContinuation { stopWaiters.append($0) }
        loop.cancel(deadline)
    }

    package var counts: IntakeCounts {
        var counts = tally
        counts.unanswered = unanswered
        counts.unansweredBytes = unansweredBytes
        counts.waitingAcks = waiting.count
        counts.isPullPaused = isPullPaused
        counts.connections = door?.gate.open ?? 0
        return counts
    }

    // MARK: Sockets

    private func bind(_ kind: ZMQSocket.Kind, _ endpoint: String) throws(ZMQError) -> (ZMQSocket, String) {
        var options = ZMQSocketOptions()
        options.maxFrameSize = IntakeSettings.maxFrameSize
        options.ipcMode = settings.ipcMode
        options.security = settings.security(of: endpoint, for: kind == .router ? .router : .pull).ofServer
        options.usesIPv6 = endpoint.hasPrefix("tcp://[")
        // Large messages: few of them may wait. A lower mark costs more for each message than it saves.
        options.receiveHighWaterMark = 256
        options.ignoresResets = true
        if kind == .router {
            // A producer that starts anew under its old routing id is the same one. With CURVE the ZAP handler gives each
            // connection a routing id of its own, and a connection that has another one by some error takes over none.
            options.routerHandover = !options.security.isServer
        }
        let socket = try ZMQSocket(kind, in: context, on: loop, options: options)
        let isSecured = options.security.isServer
        let door: Door = kind == .router ? .router(isSecured: isSecured) : .pull(isSecured: isSecured)
        socket.onMessage = { [unowned self] message in
            receive(RequestFrames(message, total: message.count, at: door), at: door)
        }
        socket.onMalformed = { [unowned self] message, count in
            receive(RequestFrames(message, total: count, at: door), at: door)
        }
        socket.onBatchEnd = { [unowned self] in endRun() }
        socket.onTerminated = { [unowned self] in close() }
        do throws(ZMQError) {
            try self.door?.watch(socket)
            return (socket, try socket.bind(endpoint))
        } catch {
            socket.close()
            throw error
        }
    }

    private func closeSockets() {
        router?.close()
        pull?.close()
        router = nil
        pull = nil
    }

    private func close() {
        guard !isClosed else { return }
        isClosed = true
        closeSockets()
        for timer in [pressureTimer, ackTimer] { if let timer { loop.cancel(timer) } }
        tally.droppedAcks += UInt64(waiting.removeAll())
        tally.abandoned += UInt64(held.count)
        unanswered -= held.count
        held = []
        for waiter in stopWaiters { waiter.resume() }
        stopWaiters = []
    }

    func endIfIdle() {
        if isStopping, group.isEmpty, unanswered == held.count, waiting.isEmpty { close() }
    }

    // MARK: A run of messages

    func beginRun() {
        guard !isRunBegun else { return }
        isRunBegun = true
        runNumber &+= 1
        now = wallClock().seconds
        backlogNow = backlog()
    }

    private func endRun() {
        isRunBegun = false
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
        if !notes.isEmpty {
            ledger.note(notes, done: nil)
            notes = []
        }
        guard !group.isEmpty else { return }
        let group = self.group
        self.group = RequestGroup()
        // A busy tick brings about as much as the one before it.
        self.group.reserve(group.requests.count)
        tally.groups += 1
        ledger.accept(group.requests) { acceptances in
            // After `stop` nobody waits for it any more.
            self.loop.executeUnlessStopped { self.assumeIsolated { $0.answered(group, acceptances) } }
        }
    }

    // MARK: Pressure

    /// Whether there is no room for one more.
    var isFull: Bool {
        unanswered >= limits.unanswered || unansweredBytes >= limits.unansweredBytes
            || backlogNow + unanswered >= 2 * limits.backlog || fault != nil || isStopping
    }

    /// Full, or not long past it: a PULL that was paused stays so until there is room for more than one.
    private var isStillFull: Bool {
        4 * unanswered > 3 * limits.unanswered || 4 * unansweredBytes > 3 * limits.unansweredBytes
            || 4 * (backlogNow + unanswered) > 3 * 2 * limits.backlog || fault != nil || isStopping
    }

    /// What is told to a producer that there is no room for.
    var retryAfter: Duration { fault == nil ? limits.retryAfter : Self.retryAfterFault }
    static let retryAfterFault = Duration.seconds(1)

    /// Pauses the PULL or goes on with it, as there is room.
    func feelPressure() {
        guard let pull, !isClosed else { return }
        if isPullPaused {
            backlogNow = backlog()
            if held.isEmpty, !isRetrying, !isStillFull {
                isPullPaused = false
                pull.resumeReceiving()
            }
        } else if isFull || !held.isEmpty {
            isPullPaused = true
            pull.pauseReceiving()
        }
        // Nobody says when the backlog has gone down.
        guard isPullPaused, pressureTimer == nil else { return }
        pressureTimer = loop.schedule(after: held.isEmpty && !isRetrying ? limits.retryAfter : Self.retryAfterFault) {
            [weak self] in
            self?.assumeIsolated {
                $0.pressureTimer = nil
                $0.handInHeld()
                $0.feelPressure()
            }
        }
    }

    /// What the ledger could not write is handed in again.
    private func handInHeld() {
        guard fault == nil, !isStopping, !held.isEmpty else { return }
        for request in held { group.add(request) }
        held = []
        group.isRetry = true
        isRetrying = true
        askForFlush()
    }

    // MARK: Answers that wait

    private static let firstAckDelay = Duration.milliseconds(5)
    private static let lastAckDelay = Duration.milliseconds(160)

    /// A producer whose queue is full says nothing when it has read: it is tried again, the less it reads the later.
    func retryAcksLater() {
        guard ackTimer == nil, !waiting.isEmpty else { return }
        ackTimer = loop.schedule(after: ackDelay) { [weak self] in
            self?.assumeIsolated { $0.retryAcks() }
        }
    }

    private func retryAcks() {
        ackTimer = nil
        let (sent, dropped) = waiting.retry(now: loop.now) { identity, ack in
            unsafe identity.withUnsafeBytes { unsafe transmit(ack.kind, ack.text, to: $0, ack.hasDelimiter) }
        }
        tally.droppedAcks += UInt64(dropped)
        ackDelay = sent > 0 ? Self.firstAckDelay : min(ackDelay * 2, Self.lastAckDelay)
        if waiting.isEmpty { ackDelay = Self.firstAckDelay }
        retryAcksLater()
        endIfIdle()
    }
}

extension Intake: TickEndFlushing {
    package nonisolated func flushAtTickEnd() {
        assumeIsolated { $0.flush() }
    }
}
