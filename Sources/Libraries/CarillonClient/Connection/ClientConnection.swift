import PushLoop
import PushTime
import PushTransport

/// One DEALER or SUB socket with one connection, until that is lost. The owner makes a new one then.
///
/// Confined to its loop. ZeroMQ would reconnect by itself, but not after a refused key, and to one endpoint only.
final class ClientConnection {
    enum Change {
        case connected
        case lost(String)
    }

    /// The largest frame from Carillon: the longest batch of acks, or 64 KiB of events, has less.
    private static let maxFrame = 8 << 20

    let endpoint: String
    let socket: ZMQSocket
    private var monitor: ZMQMonitor?
    private var timer: TimerID?
    private var report: ((Change) -> Void)?
    private(set) var isConnected = false

    /// - Parameter report: Called with `connected` at most once, and then with `lost` at most once.
    init(
        _ kind: ZMQSocket.Kind, to endpoint: String, usesIPv6: Bool, in context: ZMQContext, on loop: EventLoop,
        keys: ClientKeys?, timeout: Duration = .seconds(3), report: @escaping (Change) -> Void
    ) throws(ZMQError) {
        self.endpoint = endpoint
        var options = ZMQSocketOptions()
        options.linger = .zero
        // With ZMQ_IMMEDIATE, libzmq 4.3 ends the queue of a lost connection although messages are in it. If one of them
        // is half read, it aborts the process. The owner sends only while there is a connection.
        options.onlyToConnected = false
        options.maxFrameSize = Self.maxFrame
        options.receiveHighWaterMark = 64
        options.handshakeTimeout = timeout
        options.usesIPv6 = usesIPv6
        // The owner replaces the socket before ZeroMQ tries again.
        options.reconnectInterval = .seconds(60)
        options.maxReconnectInterval = .seconds(60)
        if let keys, !endpoint.hasPrefix("ipc://") { options.security = keys.security }
        socket = try ZMQSocket(kind, in: context, on: loop, options: options)
        self.report = report
        do throws(ZMQError) {
            monitor = try socket.monitor { [weak self] event in self?.observe(event) }
            try socket.connect(endpoint)
        } catch {
            close()
            throw error
        }
        timer = loop.schedule(after: timeout) { [weak self] in self?.lose("timed out") }
    }

    /// Ends the connection. Nothing is reported after this. May be called twice.
    func close() {
        report = nil
        if let timer = timer.take() { socket.loop.cancel(timer) }
        monitor?.close()
        monitor = nil
        socket.close()
    }

    private func observe(_ event: ZMQMonitorEvent) {
        switch event.kind {
        case .handshakeSucceeded:
            if let timer = timer.take() { socket.loop.cancel(timer) }
            guard !isConnected else { return }
            isConnected = true
            report?(.connected)
        case .disconnected: lose("connection lost")
        case .closed, .connectRetried: lose("cannot connect (refused, or the name is not known)")
        case .handshakeFailedAuthentication(let status):
            lose("Carillon refuses the key of this client (\(status)); check security.clients")
        case .handshakeFailedProtocol:
            lose("the peer speaks another protocol; check the endpoint, and whether both sides use keys")
        case .handshakeFailedNoDetail: lose("the handshake failed; check the public key of Carillon")
        default: break
        }
    }

    private func lose(_ reason: String) {
        isConnected = false
        let report = report.take()
        close()
        report?(.lost("\(endpoint): \(reason)"))
    }
}
