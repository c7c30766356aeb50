private import CZeroMQ
import PushLoop

/// Watches what becomes of the connections of a socket. "Connected" in earnest is `handshakeSucceeded`.
///
/// Confined to its loop. It may outlive its socket, and closes by itself after `stopped`; otherwise close it.
package final class ZMQMonitor {
    /// Events wait here if the loop is busy. libzmq's I/O thread stops when it is full, so there is a lot of room.
    private static let queuedEvents = 100_000

    private let socket: ZMQSocket
    private let handler: (ZMQMonitorEvent) -> Void

    init(
        of monitored: UnsafeMutableRawPointer, in context: ZMQContext, on loop: EventLoop,
        handler: @escaping (ZMQMonitorEvent) -> Void
    ) throws(ZMQError) {
        let endpoint = context.uniqueEndpoint(for: "monitor")
        var options = ZMQSocketOptions()
        options.linger = .zero
        options.receiveHighWaterMark = Self.queuedEvents
        self.handler = handler
        socket = try ZMQSocket(.pair, in: context, on: loop, options: options)
        do throws(ZMQError) {
            guard unsafe zmq_socket_monitor(monitored, endpoint, ZMQ_EVENT_ALL) == 0 else {
                throw .last("monitor a socket")
            }
            try socket.connect(endpoint)
        } catch {
            socket.close()
            throw error
        }
        socket.onMessage = { [unowned self] message in received(message) }
    }

    /// No event comes after this. May be called twice.
    package func close() {
        socket.close()
    }

    private func received(_ message: borrowing ZMQMessage) {
        guard message.count == 2 else { return }
        let endpoint = unsafe message.withBytes(ofFrame: 1) { unsafe String(decoding: $0, as: UTF8.self) }
        let event = unsafe message.withBytes(ofFrame: 0) { unsafe ZMQMonitorEvent($0, endpoint: endpoint) }
        guard let event else { return }
        withExtendedLifetime(self) {
            handler(event)
            if case .stopped = event.kind { close() }
        }
    }
}
