private import CZeroMQ

/// A client that libzmq refused in the handshake. The ``ZAPHandler`` is not asked about it, and libzmq does not report
/// its key.
package struct ZMQRefusedHandshake: Hashable, Sendable {
    package enum Cause: Hashable, Sendable {
        /// The client and the socket have different security mechanisms.
        case mechanism
        /// The client has the public key of another server.
        case otherServer
        /// The client broke the rules of the handshake.
        case malformed
        /// The client does not speak ZMTP 3. It has ZMTP 1 or 2, or another protocol, such as HTTP.
        case otherProtocol

        init(_ code: UInt32) {
            switch CInt(bitPattern: code) {
            case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH: self = .mechanism
            case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC: self = .otherServer
            default: self = .malformed
            }
        }
    }

    /// The ZAP domain of the socket.
    package let domain: String
    /// The address of the client; nil if the connection had ended before it was known.
    package let address: String?
    package let cause: Cause
}
