private import CZeroMQ

/// What libzmq refused, and what to do about it.
package struct ZMQError: Error, Hashable, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        fileprivate enum Base: Hashable, Sendable {
            case addressInUse, addressNotAvailable, noSuchDevice, invalidEndpoint, notPermitted, noPeer, wrongState
            case tooManySockets, outOfMemory, notSupported, terminated, closed, invalidOption, invalidKey, tooManyUsers
            case notFound, tooManyFrames
            case other(CInt)
        }

        fileprivate let base: Base

        package static let addressInUse = Code(base: .addressInUse)
        package static let addressNotAvailable = Code(base: .addressNotAvailable)
        package static let noSuchDevice = Code(base: .noSuchDevice)
        package static let invalidEndpoint = Code(base: .invalidEndpoint)
        package static let notPermitted = Code(base: .notPermitted)
        package static let noPeer = Code(base: .noPeer)
        package static let wrongState = Code(base: .wrongState)
        package static let tooManySockets = Code(base: .tooManySockets)
        package static let outOfMemory = Code(base: .outOfMemory)
        package static let notSupported = Code(base: .notSupported)
        /// The context ends or has ended.
        package static let terminated = Code(base: .terminated)
        /// The socket was closed before.
        package static let closed = Code(base: .closed)
        package static let invalidOption = Code(base: .invalidOption)
        package static let invalidKey = Code(base: .invalidKey)
        package static let tooManyUsers = Code(base: .tooManyUsers)
        package static let notFound = Code(base: .notFound)
        package static let tooManyFrames = Code(base: .tooManyFrames)
        /// An error number that has no name here.
        package static func other(_ number: CInt) -> Code { Code(base: .other(number)) }

        package var description: String { "\(base)" }
    }

    package let code: Code
    package let message: String

    package var description: String { message }

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error of the last failed call of libzmq on this thread. Make it before anything else is called.
    static func last(_ action: String) -> ZMQError {
        ZMQError(number: zmq_errno(), action)
    }

    /// - Parameter action: what was tried, as in "bind tcp://127.0.0.1:5555".
    init(number: CInt, _ action: String) {
        let (code, advice) = Self.meaning(of: number)
        self.init(code, "cannot \(action): \(advice)")
    }

    private static func meaning(of number: CInt) -> (Code, String) {
        switch number {
        case EADDRINUSE:
            (
                .addressInUse,
                "address in use: another process or socket listens there; stop it or choose another address"
            )
        case EADDRNOTAVAIL:
            (.addressNotAvailable, "this machine has no such address; use one of its own, or * for all")
        case ENODEV:
            (.noSuchDevice, "no network interface of that name; list them with `ip address`")
        case EAGAIN:
            (.noSuchDevice, "the name could not be looked up; use an address of this machine")
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
            (.noPeer, "nobody is bound there; bind the inproc endpoint first")
        case EHOSTUNREACH:
            (.noPeer, "no such peer is connected")
        case EFSM:
            (.wrongState, "not this socket's turn: requests and replies alternate")
        case EMFILE:
            (.tooManySockets, "no more sockets: raise the context's limit, or `ulimit -n`")
        case ENOMEM:
            (.outOfMemory, "out of memory")
        case ENOTSUP, EOPNOTSUPP:
            (.notSupported, "this kind of socket cannot do that")
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
        ZMQError(.closed, "cannot \(action): the socket was closed")
    }
}
