private import CZeroMQ
import PushLoop

/// A monitor of the connections of a socket. A connection is usable only after `handshakeSucceeded`.
///
/// Confined to its loop. It stays alive, even without other references, until it is closed or its socket has ended,
/// which it reports as `stopped`.
package final class ZMQMonitor {
    /// The maximum number of queued events if the loop is busy. libzmq's I/O thread blocks when the queue is full, so
    /// the queue is large.
    private static let queuedEvents = 100_000

    private let reader: ZMQSocket
    private weak var monitored: ZMQSocket?
    private var handler: ((ZMQMonitorEvent) -> Void)?

    /// - Parameter handle: The libzmq socket of `monitored`.
    init(
        of monitored: ZMQSocket, handle: UnsafeMutableRawPointer, handler: @escaping (ZMQMonitorEvent) -> Void
    ) throws(ZMQError) {
        let endpoint = monitored.context.uniqueEndpoint(for: "monitor")
        var options = ZMQSocketOptions()
        options.linger = .zero
        options.receiveHighWaterMark = Self.queuedEvents
        self.handler = handler
        self.monitored = monitored
        reader = try ZMQSocket(.pair, in: monitored.context, on: monitored.loop, options: options)
        do throws(ZMQError) {
            guard unsafe zmq_socket_monitor(handle, endpoint, ZMQ_EVENT_ALL) == 0 else {
                throw .last("monitor a socket")
            }
            try reader.connect(endpoint)
        } catch {
            unsafe zmq_socket_monitor(handle, nil, 0)
            reader.close()
            throw error
        }
        // The cycle ends when the reader closes.
        reader.onMessage = { message in self.received(message) }
    }

    /// Stops the monitor. No event is reported after this. May be called twice.
    ///
    /// libzmq, and with it all sockets of the context, waits for the reader of its events. So the reader is closed only
    /// after libzmq has stopped writing: at once if the socket is open, otherwise after the last event.
    package func close() {
        handler = nil
        guard let monitored, !monitored.isClosed else { return }
        monitored.stopMonitoring(by: self)
        reader.close()
    }

    private func received(_ message: borrowing ZMQMessage) {
        guard message.count == 2 else { return }
        let endpoint = unsafe message.withBytes(ofFrame: 1) { unsafe String(decoding: $0, as: UTF8.self) }
        let event = unsafe message.withBytes(ofFrame: 0) { unsafe ZMQMonitorEvent($0, endpoint: endpoint) }
        guard let event else { return }
        handler?(event)
        if case .stopped = event.kind {
            handler = nil
            reader.close()
        }
    }
}
