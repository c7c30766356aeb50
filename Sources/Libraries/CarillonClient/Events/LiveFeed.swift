import PushLoop
import PushTime
import PushTransport

/// The live events of one endpoint. A connection that is lost or silent is made again.
///
/// Confined to its loop.
final class LiveFeed {
    enum Change {
        case message(topic: [UInt8], bytes: [UInt8])
        /// Messages may be missing before the next one.
        case lost
    }

    /// Carillon sends a heartbeat each second.
    private static let maxSilence = Duration.seconds(5)

    private let endpoint: String
    private let prefix: String
    private let settings: ClientSettings
    private let context: ZMQContext
    private let loop: EventLoop
    private var report: ((Change) -> Void)?
    private var endpoints: EndpointMachine
    private var connection: ClientConnection?
    private var retry: TimerID?
    private var lastMessage: MonotonicTime
    private var isPaused = false

    /// - Parameter report: Called with each change until ``close()``.
    init(
        _ endpoint: String, prefix: String, settings: ClientSettings, context: ZMQContext, on loop: EventLoop,
        report: @escaping (Change) -> Void
    ) {
        self.endpoint = endpoint
        self.prefix = prefix
        self.settings = settings
        self.context = context
        self.loop = loop
        self.report = report
        endpoints = EndpointMachine([endpoint])
        lastMessage = loop.now
    }

    func start() {
        guard report != nil, connection == nil, retry == nil else { return }
        lastMessage = loop.now
        do throws(ZMQError) {
            let made = try ClientConnection(
                .sub, to: endpoint, usesIPv6: endpoints.usesIPv6, in: context, on: loop, keys: settings.keys
            ) { [unowned self] change in changed(change) }
            connection = made
            try made.socket.subscribe(prefix)
            try made.socket.subscribe("heartbeat")
            made.socket.onMessage = { [unowned self] message in
                guard message.count == 2, message.byteCount(ofFrame: 0) <= 1024 else { return }
                let topic = message.copied(0)
                let bytes = message.copied(1)
                lastMessage = loop.now
                report?(.message(topic: topic, bytes: bytes))
            }
            if isPaused { made.socket.pauseReceiving() }
        } catch {
            lose("\(endpoint): \(error.message)")
        }
    }

    /// Ends the connection. Nothing is reported after this.
    func close() {
        report = nil
        if let retry = retry.take() { loop.cancel(retry) }
        connection?.close()
        connection = nil
    }

    /// Leaves what arrives in the buffers of ZeroMQ and of the kernel.
    func pause() {
        isPaused = true
        connection?.socket.pauseReceiving()
    }

    func resume() {
        if isPaused { lastMessage = loop.now }
        isPaused = false
        connection?.socket.resumeReceiving()
    }

    /// Makes the connection again if no heartbeat arrives.
    func checkSilence() {
        guard connection?.isConnected == true, !isPaused else { return }
        if loop.now - lastMessage > Self.maxSilence { lose("\(endpoint): no heartbeat") }
    }

    private func changed(_ change: ClientConnection.Change) {
        switch change {
        case .connected:
            endpoints.succeeded()
            lastMessage = loop.now
            settings.log(.info, "subscribed", ["endpoint": endpoint, "prefix": prefix])
        case .lost(let reason): lose(reason)
        }
    }

    private func lose(_ reason: String) {
        connection?.close()
        connection = nil
        guard let report, retry == nil else { return }
        settings.log(.warning, "subscription lost", ["reason": reason])
        let delay = endpoints.failed(chance: Double.random(in: 0...1))
        retry = loop.schedule(after: delay) { [unowned self] in
            retry = nil
            start()
        }
        report(.lost)
    }
}
