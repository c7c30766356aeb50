import Glibc
package import PushLoop
package import PushTime

/// The reason why a call over a Unix socket has no response.
package enum HTTP1CallError: Error, Sendable {
    /// The path is empty, too long, or contains a zero byte.
    case invalidPath
    /// No process listens at the path.
    case notListening
    case notPermitted
    case cannotConnect(SystemError)
    case timedOut
    case disconnected(SystemError)
    case malformed(HTTP1ResponseMachine.Fault)
}

/// One request and its response over a Unix socket. The calls block, but not past the deadline.
package struct HTTP1SocketCall: ~Copyable {
    private let socket: Socket
    private let deadline: MonotonicTime

    private init(socket: consuming Socket, deadline: MonotonicTime) {
        self.socket = socket
        self.deadline = deadline
    }

    /// Sends the request to the socket and returns the response.
    package static func send(
        _ request: [UInt8], to path: String, until deadline: MonotonicTime
    ) throws(HTTP1CallError) -> HTTP1Response {
        guard let address = SocketAddress(unixPath: path) else { throw .invalidPath }
        let call = HTTP1SocketCall(socket: try socket(family: address.family), deadline: deadline)
        try call.connect(to: address)
        try call.write(request)
        return try call.response()
    }

    private func connect(to address: SocketAddress) throws(HTTP1CallError) {
        while unsafe address.withSockaddr({ unsafe Glibc.connect(socket.descriptor, $0, $1) }) != 0 {
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // The accept queue of the listener is full, and no event reports room in it.
                guard remaining > 0 else { throw .timedOut }
                poll(nil, 0, min(remaining, 10))
            case ENOENT, ECONNREFUSED, ENOTDIR, ENOTSOCK: throw .notListening
            case EACCES, EPERM: throw .notPermitted
            default: throw .cannotConnect(.current)
            }
        }
    }

    private static func socket(family: CInt) throws(HTTP1CallError) -> Socket {
        do {
            return try Socket.stream(family: family)
        } catch {
            throw .cannotConnect(error)
        }
    }

    /// The milliseconds until the deadline.
    private var remaining: CInt {
        let left = (deadline - MonotonicTime.current()).components
        return CInt(clamping: max(0, left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000))
    }

    private func wait(for events: CInt) throws(HTTP1CallError) {
        while true {
            let left = remaining
            guard left > 0 else { throw .timedOut }
            var watched = pollfd(fd: socket.descriptor, events: Int16(events), revents: 0)
            if unsafe poll(&watched, 1, left) > 0 { return }
        }
    }

    private func write(_ bytes: [UInt8]) throws(HTTP1CallError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.send(socket.descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try wait(for: POLLOUT)
            } else if errno != EINTR {
                // A server may respond and close before it has read the whole request.
                return
            }
        }
    }

    private func response() throws(HTTP1CallError) -> HTTP1Response {
        var machine = HTTP1ResponseMachine()
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes { bytes in
                unsafe recv(socket.descriptor, bytes.baseAddress, bytes.count, 0)
            }
            let number = errno
            do throws(HTTP1ResponseMachine.Fault) {
                if count > 0 {
                    if let response = try machine.received(piece[..<count]) { return response }
                    continue
                }
                if count == 0 || number == ECONNRESET { return try machine.ended() }
            } catch {
                throw .malformed(error)
            }
            switch number {
            case EAGAIN: try wait(for: POLLIN)
            case EINTR: continue
            default: throw .disconnected(SystemError(number: number))
            }
        }
    }
}
