private import CZeroMQ
package import PushLoop

/// An event of a connection.
package struct ZMQMonitorEvent: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The transport is connected. The handshake follows.
        case connected
        case connectDelayed(SystemError)
        case connectRetried(after: Duration)
        case listening
        case bindFailed(SystemError)
        case accepted
        case acceptFailed(SystemError)
        case closed
        case closeFailed(SystemError)
        case disconnected
        /// The socket was closed. This is the last event of a monitor.
        case stopped
        /// The connection is ready for messages.
        case handshakeSucceeded
        /// The ZAP handler refused the peer, or refused us, with this status. libzmq does not retry.
        case handshakeFailedAuthentication(status: Int)
        /// The peers do not speak the same protocol. Usually one of them uses CURVE and the other does not. libzmq does
        /// not retry.
        case handshakeFailedProtocol(code: UInt32)
        /// The connection was lost during the handshake. With CURVE, a wrong server key has this effect as well. libzmq
        /// retries forever.
        case handshakeFailedNoDetail(SystemError)
        /// An event that this code does not know.
        case unknown(event: UInt16, value: UInt32)
    }

    package let kind: Kind
    /// The remote or local endpoint in libzmq's notation.
    package let endpoint: String
    /// The descriptor of the connection, if the event concerns an established or ended one.
    let descriptor: CInt?

    /// Decodes an event and its value: 16 and 32 bits in native byte order. Returns nil for any other size.
    init?(_ bytes: UnsafeRawBufferPointer, endpoint: String) {
        guard bytes.count == 6 else { return nil }
        let event = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt16.self)
        let value = unsafe bytes.loadUnaligned(fromByteOffset: 2, as: UInt32.self)
        self.endpoint = endpoint
        kind = Self.kind(event: event, value: value)
        descriptor =
            switch kind {
            case .accepted, .disconnected: CInt(truncatingIfNeeded: value)
            default: nil
            }
    }

    static func kind(event: UInt16, value: UInt32) -> Kind {
        let error = SystemError(number: CInt(truncatingIfNeeded: value))
        return switch CInt(event) {
        case ZMQ_EVENT_CONNECTED: .connected
        case ZMQ_EVENT_CONNECT_DELAYED: .connectDelayed(error)
        case ZMQ_EVENT_CONNECT_RETRIED: .connectRetried(after: .milliseconds(Int64(value)))
        case ZMQ_EVENT_LISTENING: .listening
        case ZMQ_EVENT_BIND_FAILED: .bindFailed(error)
        case ZMQ_EVENT_ACCEPTED: .accepted
        case ZMQ_EVENT_ACCEPT_FAILED: .acceptFailed(error)
        case ZMQ_EVENT_CLOSED: .closed
        case ZMQ_EVENT_CLOSE_FAILED: .closeFailed(error)
        case ZMQ_EVENT_DISCONNECTED: .disconnected
        case ZMQ_EVENT_MONITOR_STOPPED: .stopped
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: .handshakeSucceeded
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: .handshakeFailedAuthentication(status: Int(value))
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: .handshakeFailedProtocol(code: value)
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: .handshakeFailedNoDetail(error)
        default: .unknown(event: event, value: value)
        }
    }
}
