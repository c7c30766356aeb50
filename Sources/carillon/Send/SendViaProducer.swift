import PushLoop
import PushModel
import PushTransport
import PushWire

/// One message on its way to an intake: sent, sent again under the same id when there is no answer or no room, until
/// there is an answer that stands or the time is over.
actor SendViaProducer {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    struct End: Sendable {
        /// The status that stands, or the last `busy`; nil without any answer.
        var status: [String: JSONValue]?
        /// How often it was sent.
        var attempts = 0
        /// Why the connection did not come to pass, if that is known.
        var obstacle: Obstacle?
    }

    enum Obstacle: Sendable {
        case keyRefused
        case noCommonProtocol
        case handshakeBroken
        case nobodyThere
    }

    /// After this long without an answer it is sent again.
    private static let patience: Duration = .seconds(2)

    private let id: String
    private let frames: [[UInt8]]
    private var socket: ZMQSocket?
    private var monitor: ZMQMonitor?
    private var end = End()
    private var next: TimerID?
    private var deadline: TimerID?
    private var waiter: CheckedContinuation<End, Never>?

    init(on loop: EventLoop, id: String, frames: [[UInt8]]) {
        self.loop = loop
        self.id = id
        self.frames = frames
    }

    func run(
        in context: ZMQContext, to endpoint: String, security: ZMQSecurity, within timeout: Duration
    ) async throws(ZMQError) -> End {
        var options = ZMQSocketOptions()
        options.security = security
        options.usesIPv6 = endpoint.hasPrefix("tcp://[")
        options.linger = .zero
        options.maxReconnectInterval = .seconds(1)
        // All is read that comes, so that libzmq never stops reading: with input stopped, a reset by the other side and
        // then its heartbeat abort the process (libzmq's issues 3937 and 4364).
        options.receiveHighWaterMark = 0
        let socket = try ZMQSocket(.dealer, in: context, on: loop, options: options)
        self.socket = socket
        socket.onMessage = { [unowned self] message in heard((0..<message.count).map { message.copied($0) }) }
        monitor = try socket.monitor { [unowned self] event in happened(event.kind) }
        try socket.connect(endpoint)
        deadline = loop.schedule(after: timeout) { [weak self] in self?.assumeIsolated { $0.finish() } }
        send()
        return await withCheckedContinuation { waiter = $0 }
    }

    func close() {
        socket?.close()
        monitor?.close()
        for timer in [next, deadline] { if let timer { loop.cancel(timer) } }
    }

    private func send() {
        guard let socket, end.status == nil || isBusy else { return }
        // Queued once, it goes out when the connection stands: another copy of it would say nothing new.
        if end.attempts == 0 || end.obstacle == nil {
            _ = socket.send { outbox in for frame in frames { outbox.add(frame) } }
            end.attempts += 1
        }
        again(after: Self.patience)
    }

    private func again(after delay: Duration) {
        if let next { loop.cancel(next) }
        next = loop.schedule(after: delay) { [weak self] in self?.assumeIsolated { $0.send() } }
    }

    private var isBusy: Bool { end.status?["status"] == .string("busy") }

    private func heard(_ frames: [[UInt8]]) {
        guard frames.count == 2, frames[0] == Array("ack/1".utf8), let document = try? JSONDocument(frames[1]),
            case .object(let status) = document.value(at: document.root)
        else { return }
        // An answer without an id is to a message that had none to be read: there is but this one.
        guard status["id"] == .string(id) || status["id"] == .null else { return }
        end.status = status
        guard isBusy else { return finish() }
        var wait = Duration.milliseconds(250)
        if case .integer(let time)? = status["retry_after_ms"] { wait = .milliseconds(min(max(time, 10), 60_000)) }
        again(after: wait)
    }

    private func happened(_ kind: ZMQMonitorEvent.Kind) {
        switch kind {
        case .handshakeSucceeded: end.obstacle = nil
        case .handshakeFailedAuthentication:
            end.obstacle = .keyRefused
            // libzmq does not try again.
            finish()
        case .handshakeFailedProtocol:
            end.obstacle = .noCommonProtocol
            finish()
        case .handshakeFailedNoDetail: end.obstacle = .handshakeBroken
        case .connectRetried: end.obstacle = end.obstacle ?? .nobodyThere
        default: break
        }
    }

    private func finish() {
        waiter?.resume(returning: end)
        waiter = nil
    }
}
