import PushLogic
package import PushLoop
package import PushModel
package import PushTransport

/// The connections of one app: takes deliveries from the router, distributes them over connections, and reports each
/// delivery exactly once.
///
/// The actor is pinned to its loop. Its `GatewayMachine` decides; the actor has the objects that the machine counts:
/// the queue, the connections and the timer. The input of a tick is handled at the end of the tick, so that a busy tick
/// needs only one round of decisions.
package actor Gateway: DeliveryGate {
    package nonisolated let loop: EventLoop
    package nonisolated let app: AppID
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    struct Held {
        let id: ConnectionID
        /// The index of the connection's loop in `connectionLoops`.
        let loopIndex: Int
        let connection: any PushConnection
        /// The last recall that it has answered.
        var recalled: UInt64
    }

    /// The state of a delivery that was requeued. Few deliveries have one.
    struct Mark {
        var requeues = 0
        /// The number of attempts at the last requeue.
        var attempt: UInt16 = 0
        var refusedToken: UInt64?
        var tokenWasRefused = false
    }

    /// The subscription to the current token source.
    private struct TokenSubscription {
        /// The newest token; nil before the first one.
        var token: ProviderToken?
        /// Ends the subscription; nil if there is none.
        var cancel: (@Sendable () -> Void)?
        /// The number of the source. Tokens from an older source are ignored.
        var number = 0
    }

    private struct End {
        var isClosed = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// The value of `counts.unknown` when the time of a drain was over; nil if no drain has timed out.
        var unknownAtDeadline: UInt64?
    }

    private let connectionLoops: [EventLoop]
    var settings: GatewaySettings
    private let client: GatewayClient

    var machine: GatewayMachine
    var queue = DeliveryQueue()
    var held: [Held] = []
    /// The marks by delivery ticket.
    var marks: [UInt64: Mark] = [:]
    /// The deliveries that move to the front of the queue when the current report is processed.
    var resends: [Delivery] = []
    var counts = GatewayCounts()

    var tokens: TokenSource?
    private var subscription = TokenSubscription()

    // These are sent to the owner at the end of the tick.
    var reports: [DeliveryReport] = []
    var events: [GatewayEvent] = []
    private var lastWindow: UInt64?
    /// The last recall that the owner has asked for, and the last one that was reported as done.
    private var recalls: (asked: UInt64, reported: UInt64) = (0, 0)
    var lastReportSize = 0

    private var isFlushRequested = false
    private var timer = DeadlineTimer()
    private var sweepAt: MonotonicTime?
    /// The limit of the push service; nil if it has none.
    private var rate: SendingRate?
    private var takesDeliveries = true
    private var end = End()

    /// Creates a gateway, which at once opens its minimum of connections and reports credit to its client.
    package init(
        on loop: EventLoop, connectionLoops: [EventLoop], settings: GatewaySettings, client: GatewayClient,
        tokens: TokenSource?
    ) {
        precondition(!connectionLoops.isEmpty, "gateway of \(settings.app): connectionLoops is empty")
        self.loop = loop
        app = settings.app
        self.connectionLoops = connectionLoops
        self.settings = settings
        self.client = client
        self.tokens = tokens
        rate = settings.deliveriesPerMinute.map { SendingRate(perMinute: $0) }
        machine = GatewayMachine(
            settings.policy, reasons: settings.reasons, usesTokens: tokens != nil, seed: settings.seed)
        loop.execute { self.assumeIsolated { $0.begin() } }
    }

    // MARK: Any thread

    /// Queues deliveries. Those above the queue's limit, and all after `drain`, are reported as returned.
    package nonisolated func submit(_ batch: [Delivery]) {
        enter { $0.take(batch) }
    }

    package nonisolated func recall(_ number: UInt64) {
        enter { gateway in
            for delivery in gateway.queue.removeWithdrawn() { gateway.report(delivery, as: nil) }
            gateway.recalls.asked = max(gateway.recalls.asked, number)
            for held in gateway.held { held.connection.recall(number) }
        }
    }

    /// Stops sending, or continues. What is in flight ends as usual, and connections stay open.
    package nonisolated func setPaused(_ isPaused: Bool) {
        enter { $0.run($0.machine.setPaused(isPaused, now: $0.loop.now)) }
    }

    /// Takes the report of another node that the push service fails, or refuses the same credential. It stays valid
    /// for the given time.
    package nonisolated func warn(_ kind: GatewayTrouble.Kind, for time: Duration) {
        enter { $0.run($0.machine.warn(kind, until: $0.loop.now + time, now: $0.loop.now)) }
    }

    package nonisolated func scale(minimum: Int, maximum: Int) {
        enter { $0.run($0.machine.scale(minimum: minimum, maximum: maximum, now: $0.loop.now)) }
    }

    /// Replaces the credential, without losing deliveries. A halted gateway resumes. New connections use `connect`, and
    /// old ones drain as new ones replace them.
    ///
    /// - Parameter endpoint: the new address of the push service, if it changed too. The server's certificate must be
    ///   issued for that host.
    package nonisolated func credentialChanged(
        connect: @escaping GatewaySettings.Connect, tokens: TokenSource?, endpoint: HostPort? = nil
    ) {
        enter {
            if let endpoint, endpoint != $0.settings.endpoint {
                $0.settings.endpoint = endpoint
                $0.settings.serverName = endpoint.host
            }
            $0.rotate(to: connect, tokens: tokens)
        }
    }

    /// Sets how often the gateway may connect (nil: no limit), and how long an idle connection above the minimum is
    /// kept.
    package nonisolated func pace(connectsPerMinute: Int?, shrinkAfter: Duration) {
        enter {
            $0.run(
                $0.machine.pace(connectsPerMinute: connectsPerMinute, shrinkAfter: shrinkAfter, now: $0.loop.now))
        }
    }

    /// Sets how many deliveries the push service takes in a minute; nil for no limit.
    package nonisolated func limit(deliveriesPerMinute: Int?) {
        enter { gateway in
            guard let deliveriesPerMinute else { return gateway.rate = nil }
            if gateway.rate == nil { gateway.rate = SendingRate(perMinute: deliveriesPerMinute) }
            gateway.rate?.change(perMinute: deliveriesPerMinute)
        }
    }

    /// Makes the next attempt with a refused credential at once.
    package nonisolated func tryCredential() {
        enter { $0.run($0.machine.tryCredential(now: $0.loop.now)) }
    }

    private nonisolated func enter(_ work: @escaping @Sendable (isolated Gateway) -> Void) {
        loop.execute {
            self.assumeIsolated {
                work($0)
                $0.askForFlush()
            }
        }
    }

    // MARK: Isolated

    package func status() async -> GatewayStatus {
        let now = loop.now
        var status = GatewayStatus(
            state: machine.state(now: now), queue: queue.count, outstanding: machine.outstanding,
            credit: credit(now), minimum: machine.minimum, maximum: machine.maximum, wanted: machine.wanted,
            failedConnectsInARow: machine.failedConnectsInARow, counts: counts,
            connections: machine.lookingUp(now: now).map { ConnectionStatus(id: $0, state: .connecting, age: $1) })
        status.counts.connects = machine.connects
        status.fault = machine.fault
        status.hasBeenUp = machine.hasBeenUp
        status.nextTrial = machine.nextTrial(now: now)
        for held in held {
            status.connections.append(await held.connection.status())
        }
        status.connections.sort { $0.id < $1.id }
        return status
    }

    /// Takes no more deliveries, sends the queued ones, and returns when every delivery has been reported and every
    /// connection has closed. When `within` has passed, the connections are closed and queued deliveries are returned
    /// to the owner.
    ///
    /// - Parameter whenCutOff: whether to end as soon as nothing is in flight and nothing can be sent.
    /// - Returns: the number of deliveries that were unanswered when the time was over. Their outcome is unknown.
    @discardableResult
    package func drain(within: Duration, whenCutOff: Bool = false) async -> Int {
        if end.isClosed { return abandoned }
        takesDeliveries = false
        run(machine.finish(waiting: queue.count, whenCutOff: whenCutOff, now: loop.now))
        let deadline = loop.schedule(after: within) { [weak self] in
            self?.assumeIsolated {
                if $0.end.unknownAtDeadline == nil { $0.end.unknownAtDeadline = $0.counts.unknown }
                $0.run($0.machine.abandon(now: $0.loop.now))
                $0.askForFlush()
            }
        }
        askForFlush()
        await withCheckedContinuation { end.waiters.append($0) }
        loop.cancel(deadline)
        return abandoned
    }

    private var abandoned: Int { end.unknownAtDeadline.map { Int(clamping: counts.unknown - $0) } ?? 0 }

    private func begin() {
        subscribe()
        run(machine.begin(now: loop.now))
        askForFlush()
    }

    private func take(_ batch: [Delivery]) {
        counts.taken += UInt64(batch.count)
        let room = takesDeliveries ? max(0, settings.policy.queueLimit - queue.count) : 0
        queue.append(batch.prefix(room))
        for delivery in batch.dropFirst(room) { report(delivery, as: nil) }
    }

    // MARK: Tokens

    private func subscribe() {
        subscription.number += 1
        subscription.token = nil
        guard let tokens else { return }
        subscription.cancel = tokens.subscribe(loop) { [weak self, number = subscription.number] result in
            self?.assumeIsolated { $0.tokenCame(result, from: number) }
        }
    }

    private func tokenCame(_ result: Result<ProviderToken, any Error>, from source: Int) {
        guard source == subscription.number, !end.isClosed else { return }
        switch result {
        case .success(let token):
            if token.generation > subscription.token?.generation ?? 0 { subscription.token = token }
            run(machine.tokenArrived(token.generation, now: loop.now))
        case .failure(let error):
            let unreached = (error as? any TokenFailure)?.unreached
            run(machine.tokenFailed("\(error)", unreached: unreached, now: loop.now))
        }
        askForFlush()
    }

    private func rotate(to connect: @escaping GatewaySettings.Connect, tokens: TokenSource?) {
        guard !end.isClosed else { return }
        subscription.cancel?()
        subscription.cancel = nil
        settings.connect = connect
        self.tokens = tokens
        for ticket in marks.keys {
            marks[ticket]?.tokenWasRefused = false
            marks[ticket]?.refusedToken = nil
        }
        // The machine must know about the change before a token arrives, and the source may have a token at once.
        run(machine.credentialChanged(usesTokens: tokens != nil, now: loop.now))
        subscribe()
    }

    // MARK: Actions of the machine

    func run(_ actions: [GatewayMachine.Action]) {
        for action in actions {
            switch action {
            case .lookUp(let id): lookUp(id)
            case .connect(let id, let address): connect(id, to: address)
            case .drain(let id): connection(id)?.drain()
            case .close(let id): connection(id)?.close()
            case .giveBack(let id): connection(id)?.giveBack()
            case .ping(let id): connection(id)?.ping()
            case .useToken(let id):
                if let token = subscription.token { connection(id)?.use(token) }
            case .renewToken(let generation): tokens?.refused(generation)
            case .raise(let event): events.append(event)
            }
        }
    }

    private func connection(_ id: ConnectionID) -> (any PushConnection)? {
        held.first { $0.id == id }?.connection
    }

    private func lookUp(_ id: ConnectionID) {
        settings.lookUp(settings.endpoint) { [weak self, loop] result in
            // A look-up cannot be cancelled, and may end after the loop has stopped.
            loop.executeUnlessStopped { [weak self] in self?.assumeIsolated { $0.lookedUp(result, for: id) } }
        }
    }

    private func lookedUp(_ result: Result<[String], any Error>, for id: ConnectionID) {
        let now = loop.now
        switch result {
        case .success(let addresses): run(machine.addressesFound(addresses, for: id, now: now))
        case .failure(let error): run(machine.lookUpFailed(ConnectionFault(error), for: id, now: now))
        }
        askForFlush()
    }

    private func connect(_ id: ConnectionID, to address: String) {
        let loopIndex = leastUsedLoop
        let request = ConnectionRequest(
            id: id, loop: connectionLoops[loopIndex],
            address: HostPort(host: address, port: settings.endpoint.port), serverName: settings.serverName,
            token: subscription.token,
            outlet: ConnectionOutlet(on: loop) { report in self.assumeIsolated { $0.receive(report) } })
        held.append(
            Held(id: id, loopIndex: loopIndex, connection: settings.connect(request), recalled: recalls.asked))
    }

    private var leastUsedLoop: Int {
        var uses = Array(repeating: 0, count: connectionLoops.count)
        for held in held { uses[held.loopIndex] += 1 }
        return uses.indices.min { uses[$0] < uses[$1] } ?? 0
    }

    // MARK: End of the tick

    func askForFlush() {
        if isFlushRequested { return }
        isFlushRequested = true
        loop.flushAtTickEnd(self)
    }

    private func flush() {
        isFlushRequested = false
        let now = loop.now
        if let due = machine.nextDeadline(now: now), due <= now { run(machine.timePassed(now: now)) }
        handOut(now)
        run(machine.handedOut(waiting: queue.count, now: now))
        if machine.isEnding {
            takesDeliveries = false
            while let delivery = queue.popFirst() { report(delivery, as: nil) }
        }
        sendReport(now)
        if machine.hasEnded { close() } else { armTimer(now: now) }
    }

    private func handOut(_ now: MonotonicTime) {
        if queue.isEmpty {
            sweepAt = nil
            return
        }
        if let permit = settings.permit, !permit.isValid {
            if sweepAt.map({ $0 <= now }) ?? true { sweepAt = now + Self.permitInterval }
            return
        }
        let time = settings.wallClock()
        var hasExpired = false
        let sendable = min(queue.count, rate?.room(now) ?? .max)
        for assignment in machine.assignments(waiting: sendable, now: now) {
            guard let connection = connection(assignment.connection) else { continue }
            let batch = queue.take(upTo: assignment.count, at: time) {
                hasExpired = true
                report($0, as: $0.message.isWithdrawn ? nil : .expired)
            }
            guard !batch.isEmpty else { continue }
            machine.gave(batch.count, to: assignment.connection)
            rate?.sent(batch.count)
            connection.deliver(batch)
        }
        if hasExpired, !queue.isEmpty { askForFlush() }
        sweep(at: time, now: now)
    }

    private static let sweepInterval: Duration = .seconds(5)
    /// The time after which a gateway that waits for the right to send looks again.
    private static let permitInterval: Duration = .milliseconds(100)

    /// Finds expired deliveries while the gateway is blocked. Otherwise they are found when they are handed out.
    private func sweep(at time: WallTime, now: MonotonicTime) {
        guard machine.isBlocked, !queue.isEmpty else {
            sweepAt = nil
            return
        }
        if let sweepAt, now >= sweepAt {
            queue.removeExpired(at: time) { report($0, as: .expired) }
            self.sweepAt = nil
        }
        if sweepAt == nil { sweepAt = now + Self.sweepInterval }
    }

    private func credit(_ now: MonotonicTime) -> Int {
        takesDeliveries ? machine.credit(waiting: queue.count, now: now) : 0
    }

    private func sendReport(_ now: MonotonicTime) {
        let credit = credit(now)
        // Taking deliveries within the credit changes both numbers but not their sum, so it needs no report.
        let window = counts.taken &+ UInt64(credit)
        // A recall is answered when no connection has an unsent delivery of a cancelled message any more.
        let recalled =
            recalls.asked == recalls.reported ? recalls.asked : held.reduce(recalls.asked) { min($0, $1.recalled) }
        guard !reports.isEmpty || !events.isEmpty || window != lastWindow || recalled != recalls.reported else {
            return
        }
        lastWindow = window
        recalls.reported = recalled
        lastReportSize = reports.count
        let report = GatewayReport(
            app: app, source: ObjectIdentifier(self), deliveries: reports, events: events, credit: credit,
            taken: counts.taken, recalled: recalled)
        reports = []
        events = []
        client.send(report)
    }

    private func armTimer(now: MonotonicTime) {
        var deadline = MonotonicTime.distantFuture
        if let time = machine.nextDeadline(now: now) { deadline = min(deadline, time) }
        if let sweepAt { deadline = min(deadline, sweepAt) }
        if let time = rateDeadline(now) { deadline = min(deadline, time) }
        guard deadline != .distantFuture else { return timer.disarm(on: loop) }
        timer.arm(at: deadline, on: loop, action: { [weak self] in self?.assumeIsolated { $0.askForFlush() } })
    }

    /// The time at which the rate lets further deliveries through; nil if they do not wait for it.
    private func rateDeadline(_ now: MonotonicTime) -> MonotonicTime? {
        guard !queue.isEmpty, !machine.isBlocked, let room = rate?.room(now), room == 0 else { return nil }
        return rate?.nextRoom
    }

    private func close() {
        if end.isClosed { return }
        end.isClosed = true
        subscription.cancel?()
        subscription.cancel = nil
        timer.disarm(on: loop)
        for waiter in exchange(&end.waiters, with: []) { waiter.resume() }
    }
}

extension Gateway: TickEndFlushing {
    package nonisolated func flushAtTickEnd() {
        assumeIsolated { $0.flush() }
    }
}
