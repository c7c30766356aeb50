import Glibc
import PushLoop

/// A Unix socket that listens, made here and lent to libzmq (`ZMQ_USE_FD`): libzmq would delete whatever file is in the
/// way, another process's socket included, and leave the new file's permissions to the umask.
package enum IPCListener {
    /// The path of an `ipc://` endpoint; nil for any other, and for those without a file: abstract names and wildcards.
    static func path(of endpoint: String) -> String? {
        guard endpoint.hasPrefix("ipc://") else { return nil }
        let path = String(endpoint.dropFirst("ipc://".count))
        return path.hasPrefix("@") || path.hasPrefix("*") ? nil : path
    }

    /// Listens at `path`. The descriptor is the caller's.
    static func listen(at path: String, mode: mode_t, backlog: Int) throws(ZMQError) -> CInt {
        do throws(UnixListener.Obstacle) {
            return try UnixListener.listen(at: path, mode: mode, backlog: CInt(clamping: backlog)).release()
        } catch {
            throw self.error(error, "bind ipc://\(path)")
        }
    }

    /// The reason why a socket cannot listen at `path`, or nil; its directory is not looked at. Changes nothing. Blocks.
    ///
    /// - Parameter mayBeInUse: whether it is no fault that somebody listens there.
    package static func fault(at path: String, mayBeInUse: Bool = false) -> ZMQError? {
        switch UnixListener.obstacle(at: path) {
        case nil: nil
        case .inUse? where mayBeInUse: nil
        case let obstacle?: error(obstacle, "bind ipc://\(path)")
        }
    }

    private static func error(_ obstacle: UnixListener.Obstacle, _ action: String) -> ZMQError {
        switch obstacle {
        case .path:
            ZMQError(
                .invalidEndpoint,
                "cannot \(action): a path to a socket has at most \(SocketAddress.longestUnixPath) bytes")
        case .otherFile:
            ZMQError(
                .addressInUse,
                "cannot \(action): the file that is there is not a socket; remove it, or choose another path")
        case .inUse:
            ZMQError(
                .addressInUse, "cannot \(action): another process listens there; stop it, or choose another path")
        case .system(let error, _):
            ZMQError(number: error.number, action)
        }
    }
}
