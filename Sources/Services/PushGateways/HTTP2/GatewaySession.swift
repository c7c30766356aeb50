import PushLogic
import PushLoop
import PushModel
import PushTime
import PushTransport

/// The state of a ``GatewayConnection``: the machine, the HTTP/2 connection, and the timer. Used on the loop only.
final class GatewaySession: HTTP2ClientConnectionDelegate {
    private let id: ConnectionID
    private let loop: EventLoop
    private let outlet: ConnectionOutlet
    private let permit: SendingPermit?
    private let wallClock: @Sendable () -> WallTime
    private let begunAt: MonotonicTime
    private var machine: ConnectionMachine
    private let writer: any RequestWriter
    private var connection: HTTP2ClientConnection?
    private var address: String?
    private var timer = DeadlineTimer()
    private var isEnding = false
    /// Whether the owner has asked for a `PING` and waits for `.alive`.
    private var isPingRequested = false

    init(_ request: ConnectionRequest, settings: GatewayConnection.Settings) {
        id = request.id
        loop = request.loop
        outlet = request.outlet
        permit = settings.http2.permit
        wallClock = settings.wallClock
        begunAt = request.loop.now
        address = request.address.description
        machine = ConnectionMachine(settings: settings.machine)
        writer = settings.writer(request.token)
        connection = HTTP2ClientConnection(
            on: loop, to: request.address, serverName: request.serverName, tls: settings.tls,
            resolver: settings.resolver, options: settings.http2, delegate: self)
    }

    // MARK: Commands of the owner

    func deliver(_ deliveries: [Delivery]) {
        machine.deliver(deliveries)
        turn()
    }

    func use(_ token: ProviderToken) {
        writer.use(token)
    }

    func drain() {
        machine.drain()
        turn()
    }

    func recall(_ number: UInt64) {
        machine.recall()
        report(.recalled(number))
    }

    func giveBack() {
        machine.giveBack()
        turn()
    }

    func close() {
        connection?.close()
    }

    func ping() {
        isPingRequested = true
        connection?.ping()
    }

    var status: ConnectionStatus {
        let state: ConnectionStatus.State =
            switch machine.phase {
            case .connecting: .connecting
            case .open: .open
            case .draining: .draining
            case .closed: .closed
            }
        var status = ConnectionStatus(id: id, state: state, age: loop.now - begunAt)
        status.address = address
        status.streamLimit = machine.phase == .connecting ? nil : machine.limit
        status.inFlight = machine.inFlightCount
        status.waiting = machine.waitingCount
        status.answered = machine.answered
        status.oldestUnanswered = machine.oldestUnanswered(at: loop.now)
        status.lastPing = connection?.lastRoundTrip
        status.goAwayReason = machine.goAwayReason?.rawValue
        return status
    }

    // MARK: Events of the connection

    func http2Settings(streamLimit limit: Int) {
        report(machine.settingsReceived(limit: limit, now: loop.now))
    }

    func http2Answered(tag: UInt64, with response: HTTP2Response) {
        machine.answered(tag, with: writer.result(of: response), now: loop.now)
    }

    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
        switch failure {
        case .notProcessed: machine.notProcessed(tag, now: loop.now)
        case .reset: machine.lost(tag, cause: .reset, now: loop.now)
        case .connectionLost: machine.lost(tag, cause: .connectionLost, now: loop.now)
        }
    }

    func http2GoAway(_ goAway: HTTP2GoAway) {
        report(machine.goAwayReceived(reason: writer.reason(ofGoAway: goAway.debugData)))
    }

    func http2BatchEnded() {
        turn()
    }

    func http2IsAlive() {
        guard isPingRequested else { return }
        isPingRequested = false
        report(.alive)
    }

    func http2Closed(_ closure: HTTP2Closure) {
        let wasConnected = machine.phase != .connecting
        machine.closed(now: loop.now)
        connection = nil
        timer.disarm(on: loop)
        let end = ConnectionEnd(closure, at: address ?? "?", wasConnected: wasConnected, reason: machine.goAwayReason)
        report(.closed(end))
    }

    // MARK: Turns

    /// Sends what the stream limit allows, reports the ended deliveries, and sets the timer.
    private func turn() {
        send()
        if machine.hasEnded { outlet.send(ConnectionReport(id, ended: machine.takeEnded())) }
        if machine.isDrained, !isEnding {
            isEnding = true
            connection?.closeGracefully()
        }
        armTimer()
    }

    private func send() {
        guard let connection else { return }
        if let permit, !permit.isValid {
            // What was not sent goes back to the router, where another node's messages are forgotten.
            if machine.waitingCount > 0 { connection.close() }
            return
        }
        guard machine.waitingCount > 0 else { return }
        let event = machine.send(now: loop.now, at: wallClock()) { delivery, tag in
            let request = writer.request(for: delivery)
            let submission = unsafe connection.submit(
                request.fields, values: request.values, body: request.body, tag: tag)
            return switch submission {
            case .taken: .taken
            case .full: .noRoom
            case .over: .over
            }
        }
        report(event)
    }

    /// Reports an event, after the deliveries that ended before it.
    private func report(_ event: ConnectionEvent?) {
        guard let event else { return }
        outlet.send(ConnectionReport(id, ended: machine.takeEnded(), event: event))
    }

    /// Sets the timer for the oldest request. It is moved only when it fires, because most requests are answered long
    /// before.
    private func armTimer() {
        guard connection != nil, !timer.isArmed(on: loop), let deadline = machine.nextDeadline else { return }
        timer.arm(at: deadline, on: loop, action: { [unowned self] in timerFired() })
    }

    private func timerFired() {
        while let tag = machine.expireOldest(now: loop.now) { connection?.abandon(tag: tag) }
        // The timeout may concern one stream or the whole connection; a PING finds out.
        if machine.hasEnded { connection?.ping() }
        report(machine.retireIfBarred(now: loop.now))
        turn()
    }
}
