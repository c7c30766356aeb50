package import PushGateways
import PushLoop
package import PushModel
import PushTransport

/// The connections of an app to many push services, which look like a single connection to the gateway: an actor on a loop
/// around an ``OriginMachine``.
///
/// It is ready at once, and stays open until it is drained or closed. What goes wrong at one origin ends the deliveries to
/// that origin, and says nothing about the pool.
package actor OriginPool: PushConnection {
    private struct Held {
        let id: ConnectionID
        let connection: any PushConnection
        /// The last recall that it has answered.
        var recalled: UInt64
        var isClosed = false
    }

    package nonisolated let id: ConnectionID
    private nonisolated let loop: EventLoop
    private let outlet: ConnectionOutlet
    private let settings: Settings
    private var machine: OriginMachine
    private var held: [Held] = []
    /// The credit that the owner knows of.
    private var announced: Int
    private var begunAt: MonotonicTime?
    private var recallAsked: UInt64 = 0
    private var recallAnswered: UInt64 = 0
    private var isFlushRequested = false
    private var timer = DeadlineTimer()
    /// Keeps the pool alive until it has closed.
    private var retained: OriginPool?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Connects to nothing before there are deliveries. May be called on any thread.
    package init(_ request: ConnectionRequest, settings: Settings) {
        id = request.id
        loop = request.loop
        outlet = request.outlet
        self.settings = settings
        machine = OriginMachine(
            rules: settings.rules, keys: settings.keys, limits: settings.limits, seed: .random(in: 0 ... .max))
        announced = settings.limits.credit
        onLoop { pool in
            pool.retained = pool
            pool.begunAt = pool.loop.now
            pool.outlet.send(ConnectionReport(pool.id, event: .ready(limit: pool.announced)))
        }
    }

    // MARK: Any thread

    package nonisolated func deliver(_ deliveries: [Delivery]) {
        onLoop { $0.machine.deliver(deliveries, now: $0.loop.now) }
    }

    package nonisolated func recall(_ number: UInt64) {
        onLoop { pool in
            pool.machine.recall()
            pool.recallAsked = max(pool.recallAsked, number)
            for held in pool.held { held.connection.recall(number) }
        }
    }

    package nonisolated func giveBack() {
        onLoop { pool in
            pool.machine.giveBack()
            for held in pool.held { held.connection.giveBack() }
        }
    }

    /// Has no effect: the writer of each origin has the tokens for it.
    package nonisolated func use(_ token: ProviderToken) {}

    package nonisolated func drain() {
        onLoop { $0.machine.finish(atOnce: false) }
    }

    package nonisolated func close() {
        onLoop { $0.machine.finish(atOnce: true) }
    }

    /// Answers by itself: whether one of many origins responds says nothing about the others, and each connection finds a
    /// silent peer.
    package nonisolated func ping() {
        onLoop { pool in
            guard pool.machine.phase == .running else { return }
            pool.outlet.send(ConnectionReport(pool.id, event: .alive))
        }
    }

    /// Runs work on the loop in the order of the calls, never within the caller's turn.
    private nonisolated func onLoop(_ work: @escaping @Sendable (isolated OriginPool) -> Void) {
        loop.execute {
            self.assumeIsolated { pool in
                work(pool)
                pool.askForFlush()
            }
        }
    }

    // MARK: Isolated

    /// Returns one state for all connections.
    package func status() async -> ConnectionStatus {
        let state: ConnectionStatus.State =
            switch machine.phase {
            case .running: .open
            case .ending: .draining
            case .closed: .closed
            }
        let now = loop.now
        var status = ConnectionStatus(id: id, state: state, age: now - (begunAt ?? now))
        status.address = "\(machine.connectedOrigins) origins, \(machine.linkCount) connections"
        status.streamLimit = announced
        status.failing = machine.failingOrigins(now: now)
        status.answered = machine.answered
        let given = machine.givenCount
        let waiting = machine.waitingCount
        for held in held {
            let inner = await held.connection.status()
            status.inFlight += inner.inFlight
            status.oldestUnanswered = [status.oldestUnanswered, inner.oldestUnanswered].compactMap(\.self).max()
            status.lastPing = [status.lastPing, inner.lastPing].compactMap(\.self).max()
        }
        // What a connection has not written yet waits, too.
        status.waiting = waiting + max(0, given - status.inFlight)
        return status
    }

    // MARK: Events

    private func receive(_ report: ConnectionReport) {
        let id = report.connection
        let now = loop.now
        if !report.ended.isEmpty { machine.ended(report.ended, on: id, now: now) }
        let index = held.firstIndex { $0.id == id }
        switch report.event {
        case .ready(let limit): machine.ready(id, limit: limit, now: now)
        case .limitChanged(let limit): machine.limitChanged(id, to: limit)
        case .goAway, .retiring: machine.retired(id)
        case .recalled(let number): if let index { held[index].recalled = number }
        case .closed(let end):
            if end.fault.code == .noCommonProtocol {
                machine.closedWithoutHTTP2(id, end, now: now)
            } else {
                machine.closed(id, end, now: now)
            }
            if let index { held[index].isClosed = true }
        // A connection to an origin has none of its own.
        case .alive, .failing, nil: break
        }
        // A connection that has closed still has to give back what was on the way to it.
        if let index, held[index].isClosed, !machine.has(id) { held.remove(at: index) }
        askForFlush()
    }

    private func lookedUp(_ number: UInt32, _ result: Result<[String], any Error>) {
        switch result {
        case .success(let addresses): machine.lookedUp(number, addresses, now: loop.now)
        case .failure(let error): machine.lookedUp(number, nil, because: ConnectionFault(error), now: loop.now)
        }
        askForFlush()
    }

    // MARK: Actions of the machine

    private func run(_ actions: [OriginMachine.Action]) {
        for action in actions {
            switch action {
            case .lookUp(let number, let origin): lookUp(origin, as: number)
            case .connect(let id, let origin, let address, let isHTTP1):
                let request = request(id, to: origin, at: address)
                let connection: any PushConnection =
                    isHTTP1
                    ? OriginCalls(request, to: origin, settings: settings.http1(to: origin))
                    : GatewayConnection(request, settings: settings.http2(to: origin))
                held.append(Held(id: id, connection: connection, recalled: recallAsked))
            case .deliver(let id, let deliveries): connection(id)?.deliver(deliveries)
            case .drain(let id): connection(id)?.drain()
            case .close(let id): connection(id)?.close()
            case .announce(let origin, let pause):
                outlet.send(ConnectionReport(self.id, event: .failing(origin, for: pause)))
            }
        }
    }

    private func connection(_ id: ConnectionID) -> (any PushConnection)? {
        held.first { $0.id == id }?.connection
    }

    private func lookUp(_ origin: Origin, as number: UInt32) {
        settings.lookUp(HostPort(host: origin.name, port: origin.port)) { [weak self, loop] result in
            // A look-up cannot be cancelled, and may end after the loop has stopped.
            loop.executeUnlessStopped { [weak self] in self?.assumeIsolated { $0.lookedUp(number, result) } }
        }
    }

    private func request(_ id: ConnectionID, to origin: Origin, at address: String) -> ConnectionRequest {
        ConnectionRequest(
            id: id, loop: loop, address: HostPort(host: address, port: origin.port), serverName: origin.name,
            token: nil,
            outlet: ConnectionOutlet(on: loop) { report in self.assumeIsolated { $0.receive(report) } })
    }

    // MARK: End of the tick

    private func askForFlush() {
        if isFlushRequested { return }
        isFlushRequested = true
        loop.flushAtTickEnd(self)
    }

    fileprivate func flush() {
        isFlushRequested = false
        let now = loop.now
        // What was not sent goes back to the router, where another node's messages are forgotten.
        if let permit = settings.permit, !permit.isValid { machine.giveBack() }
        run(machine.turn(now: now, at: settings.wallClock()))
        report()
        if let deadline = machine.nextDeadline(now: now) {
            timer.arm(at: deadline, on: loop, action: { [weak self] in self?.assumeIsolated { $0.askForFlush() } })
        } else {
            timer.disarm(on: loop)
        }
    }

    /// Reports the ended deliveries, and then what is over.
    private func report() {
        if machine.isDone {
            let end = ConnectionEnd(.byUs, message: "all connections to push services were closed")
            machine.phase = .closed
            outlet.send(ConnectionReport(id, ended: machine.takeEnded(), event: .closed(end)))
            retained = nil
        }
        // A recall is answered when no connection has an unsent delivery of a cancelled message any more.
        if recallAnswered != recallAsked, held.allSatisfy({ $0.recalled >= recallAsked }) {
            recallAnswered = recallAsked
            outlet.send(ConnectionReport(id, ended: machine.takeEnded(), event: .recalled(recallAsked)))
        } else if machine.hasEnded {
            outlet.send(ConnectionReport(id, ended: machine.takeEnded()))
        }
        if announced != machine.offered, machine.phase == .running {
            announced = machine.offered
            outlet.send(ConnectionReport(id, event: .limitChanged(announced)))
        }
    }
}

extension OriginPool: TickEndFlushing {
    package nonisolated func flushAtTickEnd() {
        assumeIsolated { $0.flush() }
    }
}

extension Origin {
    /// The host without the brackets of an IPv6 address.
    fileprivate var name: String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }
}
