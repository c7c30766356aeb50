import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushTime
import PushTransport

/// The pushes to an origin without HTTP/2, on a loop: each is a request of HTTP/1.1 with a connection of its own, and few
/// are under way at once.
///
/// Such origins are the servers of a few people, as those behind an old proxy. The first request without an answer ends
/// it, and its owner decides when to try again.
actor OriginCalls: PushConnection {
    struct Settings: Sendable {
        var tls: TLSContext
        var resolver: NameResolver
        var permit: SendingPermit?
        var wallClock: @Sendable () -> WallTime
        /// The time from the attempt to connect to the answer.
        var timeout: Duration
        var writer: WebPushWriter.Make
    }

    private enum Phase {
        /// Can transition to: ending.
        case open
        /// Takes no deliveries, and waits for answers. Can transition to: closed.
        case ending(ConnectionEnd)
        case closed
    }

    private struct Running {
        let number: UInt64
        let delivery: Delivery
        let begunAt: MonotonicTime
        var call: HTTP1ClientCall?
    }

    /// The number of requests at once.
    static let limit = 4

    nonisolated let id: ConnectionID
    private nonisolated let loop: EventLoop
    private let request: ConnectionRequest
    private let settings: Settings
    private let writer: WebPushWriter
    private let begunAt: MonotonicTime
    private var phase = Phase.open
    private var waiting = DeliveryQueue()
    private var running: [Running] = []
    private var lastNumber: UInt64 = 0
    private var answered: UInt64 = 0
    private var ended: [AttemptReport] = []
    /// Keeps it alive until it has closed.
    private var retained: OriginCalls?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// - Parameter request: Its address is numeric. Called on its loop.
    init(_ request: ConnectionRequest, to origin: Origin, settings: Settings) {
        id = request.id
        loop = request.loop
        self.request = request
        self.settings = settings
        writer = settings.writer(origin)
        begunAt = request.loop.now
        onLoop { calls in
            calls.retained = calls
            calls.report(.ready(limit: Self.limit))
        }
    }

    // MARK: Any thread

    nonisolated func deliver(_ deliveries: [Delivery]) { onLoop { $0.take(deliveries) } }

    nonisolated func recall(_ number: UInt64) {
        onLoop { calls in
            for delivery in calls.waiting.removeWithdrawn() { calls.end(delivery, as: .notProcessed) }
            calls.report(.recalled(number))
        }
    }

    nonisolated func giveBack() { onLoop { $0.returnWaiting() } }

    /// Has no effect: the writer has the tokens.
    nonisolated func use(_ token: ProviderToken) {}

    nonisolated func drain() { onLoop { $0.finishByUs("drained") } }

    nonisolated func close() {
        onLoop { calls in
            calls.finishByUs("closed")
            for one in calls.running { one.call?.cancel() }
        }
    }

    /// Has no effect: there is no connection without a request.
    nonisolated func ping() {}

    private nonisolated func onLoop(_ work: @escaping @Sendable (isolated OriginCalls) -> Void) {
        loop.execute {
            self.assumeIsolated { calls in
                work(calls)
                calls.settle()
            }
        }
    }

    // MARK: Isolated

    func status() -> ConnectionStatus {
        let state: ConnectionStatus.State =
            switch phase {
            case .open: .open
            case .ending: .draining
            case .closed: .closed
            }
        var status = ConnectionStatus(id: id, state: state, age: loop.now - begunAt)
        status.address = request.address.description
        status.streamLimit = Self.limit
        status.inFlight = running.count
        status.waiting = waiting.count
        status.answered = answered
        status.oldestUnanswered = running.first.map { loop.now - $0.begunAt }
        return status
    }

    private func take(_ deliveries: [Delivery]) {
        guard case .open = phase else {
            for delivery in deliveries { end(delivery, as: .notProcessed) }
            return
        }
        waiting.append(deliveries[...])
    }

    /// Begins the requests for which there is room, and reports what has ended.
    private func settle() {
        if case .open = phase, let permit = settings.permit, !permit.isValid, waiting.count > 0 {
            finishByUs("the right to send has ended")
        }
        while case .open = phase, running.count < Self.limit, let delivery = waiting.popFirst() { begin(delivery) }
        if case .ending(let end) = phase, running.isEmpty {
            phase = .closed
            report(.closed(end))
            retained = nil
        } else if !ended.isEmpty {
            report(nil)
        }
    }

    private func report(_ event: ConnectionEvent?) {
        request.outlet.send(ConnectionReport(id, ended: ended, event: event))
        ended = []
    }

    private func begin(_ delivery: Delivery) {
        guard delivery.mayBegin(at: settings.wallClock()) else { return end(delivery, as: .notProcessed) }
        guard var call = writer.call(for: delivery) else {
            return end(delivery, as: .refused(Refusal(status: 400, reason: nil)))
        }
        call.peer = request.address.host
        call.permit = settings.permit
        lastNumber += 1
        let number = lastNumber
        var begun = delivery
        begun.attempt &+= 1
        running.append(Running(number: number, delivery: begun, begunAt: loop.now))
        let started = HTTP1ClientCall.start(
            call, on: loop, resolver: settings.resolver, tls: settings.tls, within: settings.timeout
        ) { [self] result in
            assumeIsolated { $0.ended(number, result) }
        }
        if let index = running.firstIndex(where: { $0.number == number }) { running[index].call = started }
    }

    private func ended(_ number: UInt64, _ result: Result<HTTP1Response, HTTP1ClientFault>) {
        guard let index = running.firstIndex(where: { $0.number == number }) else { return }
        let one = running.remove(at: index)
        let latency = loop.now - one.begunAt
        switch result {
        case .success(let response):
            answered += 1
            ended.append(AttemptReport(of: one.delivery, writer.result(of: response), latency: latency))
        case .failure(let fault):
            let cause: UnknownCause = latency >= settings.timeout ? .timeout : .connectionLost
            ended.append(
                AttemptReport(of: one.delivery, fault.isSent ? .unknown(cause) : .notProcessed, latency: latency))
            finish(fault.isSent ? .lost : .unreachable, ConnectionFault(fault, at: request.address.description))
        }
        // The call is over when this returns.
        loop.execute { self.assumeIsolated { $0.settle() } }
    }

    /// Takes no more deliveries, and gives back those that wait.
    private func finish(_ kind: ConnectionEnd.Kind, _ fault: ConnectionFault) {
        guard case .open = phase else { return }
        phase = .ending(ConnectionEnd(kind, fault: fault))
        returnWaiting()
        if kind != .byUs { report(.retiring) }
    }

    private func finishByUs(_ reason: String) {
        finish(.byUs, ConnectionFault(.closed, sentence: "\(request.address): \(reason)"))
    }

    private func returnWaiting() {
        while let delivery = waiting.popFirst() { end(delivery, as: .notProcessed) }
    }

    private func end(_ delivery: Delivery, as result: AttemptResult) {
        ended.append(AttemptReport(of: delivery, result, latency: .zero))
    }
}
