import PushGateways
import PushLoop
import PushModel
import TestSupport

/// The behavior of the connections of a test. Used on the loop of the test only.
final class ScriptedWorld: @unchecked Sendable {
    // Unchecked: it is used on the loop only.
    let loop: EventLoop
    var random: SeededRandom
    /// Returns why a connection fails; nil if it succeeds.
    var failsToConnect: (ConnectionRequest) -> ConnectionEnd? = { _ in nil }
    var limit: (ConnectionRequest) -> Int = { _ in 10 }
    var connectTime: () -> Duration = { .milliseconds(20) }
    /// Returns the result of a delivery; nil if there is no answer.
    var answer: (Delivery, ConnectionRequest) -> AttemptResult? = { _, _ in .accepted(providerID: nil) }
    var answerTime: () -> Duration = { .milliseconds(5) }
    /// The delay of a report on its way to the gateway.
    var reportTime: () -> Duration = { .zero }
    /// The time by which connections judge what has expired.
    var wallClock: () -> WallTime = { .distantPast }
    /// The number of deliveries that connections were given, with repetitions.
    fileprivate(set) var handOvers = 0
    private(set) var connections: [ScriptedConnection] = []
    var breaches: [String] = []

    init(on loop: EventLoop, seed: UInt64) {
        self.loop = loop
        random = SeededRandom(seed: seed)
    }

    /// Breaks the reference cycle between the gateway, its world and the connections.
    func forget() {
        connections = []
        failsToConnect = { _ in nil }
        limit = { _ in 10 }
        connectTime = { .zero }
        answer = { _, _ in nil }
        answerTime = { .zero }
        reportTime = { .zero }
        wallClock = { .distantPast }
    }

    func connect(_ request: ConnectionRequest) -> any PushConnection {
        let connection = ScriptedConnection(request, in: self)
        connections.append(connection)
        return connection
    }

    var open: [ScriptedConnection] { connections.filter { $0.state == .open } }
}

/// A connection in memory that keeps the contract of `PushConnection`, also when it fails.
final class ScriptedConnection: PushConnection, @unchecked Sendable {
    // Unchecked: it is used on the loop only; every method of the protocol enters the loop first.
    let id: ConnectionID
    let request: ConnectionRequest
    private let world: ScriptedWorld
    private(set) var state = ConnectionStatus.State.connecting
    private(set) var tokens: [UInt64] = []
    private var limit = 0
    /// The highest limit so far. The gateway may not know yet that the limit has decreased.
    private var highestLimit = 0
    private var waiting: [Delivery] = []
    private var inFlight: [UInt64: Delivery] = [:]
    private var wasDrained = false
    private var reportsAt = MonotonicTime(nanoseconds: 0)
    private(set) var accepted = 0

    init(_ request: ConnectionRequest, in world: ScriptedWorld) {
        id = request.id
        self.request = request
        self.world = world
        if let token = request.token { tokens.append(token.generation) }
        after(world.connectTime()) {
            guard $0.state == .connecting else { return }
            if let end = $0.world.failsToConnect(request) { return $0.end(end) }
            $0.limit = $0.world.limit(request)
            $0.highestLimit = $0.limit
            $0.state = .open
            $0.report([], .ready(limit: $0.limit))
        }
    }

    private func after(_ delay: Duration, _ work: @escaping @Sendable (ScriptedConnection) -> Void) {
        world.loop.execute { self.world.loop.schedule(after: delay) { work(self) } }
    }

    /// Sends a report after its delay, in order.
    private func report(_ ended: [AttemptReport], _ event: ConnectionEvent? = nil) {
        let report = ConnectionReport(id, ended: ended, event: event)
        reportsAt = max(reportsAt, world.loop.now + world.reportTime())
        if reportsAt == world.loop.now { return request.outlet.send(report) }
        world.loop.schedule(at: reportsAt) { self.request.outlet.send(report) }
    }

    // MARK: PushConnection

    func deliver(_ deliveries: [Delivery]) {
        world.loop.execute { self.take(deliveries) }
    }

    func use(_ token: ProviderToken) {
        world.loop.execute { self.tokens.append(token.generation) }
    }

    func drain() {
        world.loop.execute {
            self.wasDrained = true
            self.takeNoMore(nil)
        }
    }

    func recall(_ number: UInt64) {
        world.loop.execute {
            let back = self.waiting.filter(\.message.isWithdrawn)
            self.waiting.removeAll(where: \.message.isWithdrawn)
            self.report(back.map { AttemptReport(of: $0, .notProcessed, latency: .zero) }, .recalled(number))
        }
    }

    func giveBack() {
        world.loop.execute {
            let back = self.waiting
            self.waiting = []
            self.report(back.map { AttemptReport(of: $0, .notProcessed, latency: .zero) })
        }
    }

    func close() {
        world.loop.execute { self.end(ConnectionEnd(.byUs, message: "closed")) }
    }

    func ping() {
        world.loop.execute { if self.state == .open { self.report([], .alive) } }
    }

    func status() async -> ConnectionStatus {
        await world.loop.run {
            var status = ConnectionStatus(id: self.id, state: self.state, age: .zero)
            status.address = "\(self.request.address)"
            status.inFlight = self.inFlight.count
            status.waiting = self.waiting.count
            return status
        }
    }

    // MARK: On the loop

    private func take(_ deliveries: [Delivery]) {
        world.handOvers += deliveries.count
        if wasDrained { world.breaches.append("\(id) received deliveries after the drain command") }
        guard state == .open else {
            // The deliveries were on their way when the connection stopped taking any.
            return report(deliveries.map { AttemptReport(of: $0, .notProcessed, latency: .zero) })
        }
        waiting += deliveries
        let ceiling = highestLimit + min(highestLimit, max(16, highestLimit / 4))
        if waiting.count + inFlight.count > ceiling { world.breaches.append("\(id) received too many deliveries") }
        send()
    }

    private func send() {
        while inFlight.count < limit, !waiting.isEmpty {
            var delivery = waiting.removeFirst()
            if delivery.isExpired(at: world.wallClock()) {
                report([AttemptReport(of: delivery, .notProcessed, latency: .zero)])
                continue
            }
            delivery.attempt += 1
            inFlight[delivery.ticket] = delivery
            guard let ending = world.answer(delivery, request) else { continue }
            let time = world.answerTime()
            after(time) { [delivery] in $0.answer(delivery, ending, time) }
        }
    }

    private func answer(_ delivery: Delivery, _ ending: AttemptResult, _ latency: Duration) {
        guard inFlight.removeValue(forKey: delivery.ticket) != nil else { return }
        if case .accepted = ending { accepted += 1 }
        report([AttemptReport(of: delivery, ending, latency: latency)])
        if state == .open { send() }
        if state == .draining, inFlight.isEmpty { end(ConnectionEnd(wasDrained ? .byUs : .goAway, message: "drained")) }
    }

    /// - Parameter event: the reason; nil if the owner drained the connection.
    func takeNoMore(_ event: ConnectionEvent?) {
        if state == .connecting { return end(ConnectionEnd(.byUs, message: "closed by its owner")) }
        guard state == .open else { return }
        state = .draining
        report(waiting.map { AttemptReport(of: $0, .notProcessed, latency: .zero) }, event)
        waiting = []
        if inFlight.isEmpty { end(ConnectionEnd(event == nil ? .byUs : .goAway, message: "drained")) }
    }

    /// Simulates a GOAWAY that excludes the newest `unprocessed` deliveries.
    func goAway(reason: String? = nil, unprocessed: Int = 0) {
        guard state == .open else { return }
        var back: [AttemptReport] = []
        for ticket in inFlight.keys.sorted().suffix(unprocessed) {
            if let delivery = inFlight.removeValue(forKey: ticket) {
                back.append(AttemptReport(of: delivery, .notProcessed, latency: .milliseconds(1)))
            }
        }
        report(back)
        takeNoMore(.goAway(reason: reason))
    }

    func setLimit(_ limit: Int) {
        guard state == .open else { return }
        self.limit = limit
        highestLimit = max(highestLimit, limit)
        report([], .limitChanged(limit))
        send()
    }

    func end(_ end: ConnectionEnd) {
        guard state != .closed else { return }
        state = .closed
        let cause = UnknownCause.connectionLost
        var ended = inFlight.keys.sorted().compactMap { inFlight[$0] }
            .map { AttemptReport(of: $0, .unknown(cause), latency: .milliseconds(3)) }
        ended += waiting.map { AttemptReport(of: $0, .notProcessed, latency: .zero) }
        inFlight = [:]
        waiting = []
        report(ended, .closed(end))
    }
}
