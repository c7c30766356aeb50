import PushLoop
import PushModel
import PushTransport
import PushWire

/// Submits one message to an intake. It resends the message with the same id after a timeout or a `busy` ack, until a
/// final ack arrives or the deadline passes.
actor SendViaProducer {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    struct End: Sendable {
        /// The final ack, or the last `busy` ack; nil if no ack arrived.
        var status: [String: JSONValue]?
        /// The number of times that the message was sent.
        var attempts = 0
        /// Why the connection failed, if that is known.
        var obstacle: Obstacle?
    }

    enum Obstacle: Sendable {
        case keyRefused
        case noCommonProtocol
        case handshakeBroken
        case nobodyThere
    }

    /// The time without an ack after which the message is sent again.
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
        // Without a high-water mark libzmq never stops reading. While it does not read, a reset by the peer followed by a
        // heartbeat aborts the process (issues 3937 and 4364 of libzmq).
        options.receiveHighWaterMark = 0
        let socket = try ZMQSocket(.dealer, in: context, on: loop, options: options)
        self.socket = socket
        socket.onMessage = { [unowned self] message in received((0..<message.count).map { message.copied($0) }) }
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
        // Until a connection is open, the first copy is still queued. Another copy would be sent in addition to it.
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

    private func received(_ frames: [[UInt8]]) {
        guard frames.count == 2, frames[0] == Array("ack/1".utf8), let document = try? JSONDocument(frames[1]),
            case .object(let status) = document.value(at: document.root)
        else { return }
        // An ack without an id is for a message whose id could not be parsed. This socket sends only one message.
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
            // libzmq does not reconnect after this error.
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
