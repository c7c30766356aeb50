import Glibc
import PushLoop

/// Listening Unix sockets, created here and passed to libzmq (`ZMQ_USE_FD`). libzmq itself would delete any file at the
/// path, even the socket of another process, and would leave the permissions of the new file to the umask.
package enum IPCListener {
    /// Returns the path of an `ipc://` endpoint. Returns nil for other endpoints and for those without a file: abstract
    /// names and wildcards.
    static func path(of endpoint: String) -> String? {
        guard endpoint.hasPrefix("ipc://") else { return nil }
        let path = String(endpoint.dropFirst("ipc://".count))
        return path.hasPrefix("@") || path.hasPrefix("*") ? nil : path
    }

    /// Listens at `path`. The caller owns the descriptor.
    static func listen(at path: String, mode: mode_t, backlog: Int) throws(ZMQError) -> CInt {
        do throws(UnixListener.Obstacle) {
            return try UnixListener.listen(at: path, mode: mode, backlog: CInt(clamping: backlog)).release()
        } catch {
            throw self.error(from: error, action: "bind ipc://\(path)")
        }
    }

    /// Returns the reason why a socket cannot listen at `path`, or nil. Its directory is not checked. Changes nothing.
    /// Blocks.
    ///
    /// - Parameter mayBeInUse: Whether it is acceptable that another process listens there.
    package static func fault(at path: String, mayBeInUse: Bool = false) -> ZMQError? {
        switch UnixListener.obstacle(at: path) {
        case nil: nil
        case .inUse? where mayBeInUse: nil
        case let obstacle?: error(from: obstacle, action: "bind ipc://\(path)")
        }
    }

    private static func error(from obstacle: UnixListener.Obstacle, action: String) -> ZMQError {
        switch obstacle {
        case .path:
            ZMQError(
                .invalidEndpoint,
                message: "cannot \(action): a path to a socket has at most \(SocketAddress.maxUnixPathLength) bytes")
        case .otherFile:
            ZMQError(
                .addressInUse,
                message: "cannot \(action): the file that is there is not a socket; remove it, or choose another path")
        case .inUse:
            ZMQError(
                .addressInUse,
                message: "cannot \(action): another process listens there; stop it, or choose another path")
        case .system(let error, _):
            ZMQError(number: error.number, action: action)
        }
    }
}
