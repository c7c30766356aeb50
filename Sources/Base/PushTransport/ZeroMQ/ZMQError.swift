private import CZeroMQ

/// An error of libzmq. The message says what to do.
package struct ZMQError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case addressInUse, addressNotAvailable, noSuchDevice, invalidEndpoint, notPermitted, noPeer, wrongState
        case tooManySockets, outOfMemory, notSupported
        /// The context is ending or has ended.
        case terminated
        /// The socket was closed before.
        case closed
        case invalidOption, invalidKey, tooManyUsers, notFound, tooManyFrames
        /// An error number without a name here.
        case other(CInt)
    }

    package let code: Code
    package let message: String

    package var description: String { message }

    package init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// Returns the error of the last failed libzmq call on this thread. Call it before any other function.
    static func last(_ action: String) -> ZMQError {
        ZMQError(number: zmq_errno(), action: action)
    }

    /// - Parameter action: The failed action, as in "bind tcp://127.0.0.1:5555".
    init(number: CInt, action: String) {
        let (code, advice) = Self.meaning(of: number)
        self.init(code, message: "cannot \(action): \(advice)")
    }

    private static func meaning(of number: CInt) -> (Code, String) {
        switch number {
        case EADDRINUSE:
            (
                .addressInUse,
                "address in use: another process or socket listens there; stop it or choose another address"
            )
        case EADDRNOTAVAIL:
            (.addressNotAvailable, "this machine does not have that address; use one of its own, or * for all")
        case ENODEV:
            (.noSuchDevice, "there is no network interface with that name; list them with `ip address`")
        case EAGAIN:
            (.noSuchDevice, "cannot look up the name; use an address of this machine")
        case EINVAL:
            (
                .invalidEndpoint,
                "not a valid endpoint or value; endpoints look like tcp://127.0.0.1:5555 or ipc:///run/x"
            )
        case EPROTONOSUPPORT:
            (.invalidEndpoint, "unknown transport; use tcp://, ipc:// or inproc://")
        case ENOCOMPATPROTO:
            (.invalidEndpoint, "this transport does not work with this kind of socket; use tcp://, ipc:// or inproc://")
        case EACCES, EPERM:
            (.notPermitted, "not permitted; check the rights on the directory, or use a port above 1023")
        case ECONNREFUSED:
            (.noPeer, "connection refused; bind the inproc endpoint first")
        case EHOSTUNREACH:
            (.noPeer, "the peer is not connected")
        case EFSM:
            (.wrongState, "wrong state: requests and replies must alternate")
        case EMFILE:
            (.tooManySockets, "too many sockets; raise the context's limit, or `ulimit -n`")
        case ENOMEM:
            (.outOfMemory, "out of memory")
        case ENOTSUP, EOPNOTSUPP:
            (.notSupported, "not supported by this kind of socket")
        case ETERM:
            (.terminated, "the ZeroMQ context is shutting down")
        case ENOTSOCK:
            (.closed, "the socket is closed")
        case ENOENT:
            (.notFound, "the socket is not bound or connected there, or the path does not exist")
        default:
            unsafe (.other(number), String(cString: zmq_strerror(number)))
        }
    }

    static func closed(_ action: String) -> ZMQError {
        ZMQError(.closed, message: "cannot \(action): the socket was closed")
    }
}
