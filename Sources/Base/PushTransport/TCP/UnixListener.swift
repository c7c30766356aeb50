import Glibc
import PushLoop

/// A listening Unix socket.
struct UnixListener: ~Copyable {
    /// The reason why a socket cannot listen at a path.
    enum Obstacle: Error {
        /// The path is empty, too long, or contains a zero byte.
        case path
        /// A file that is not a socket exists at the path.
        case otherFile
        /// Another process listens at the path.
        case inUse
        case system(SystemError, call: String)
    }

    private let socket: Socket
    let file: SocketFile?

    /// Listens at `path`. The socket file has the given mode regardless of the umask, and at no time a less strict one.
    ///
    /// A socket file without a listener is left over from an earlier process and is replaced. Other files are not
    /// replaced.
    static func listen(at path: String, mode: mode_t, backlog: CInt) throws(Obstacle) -> UnixListener {
        guard let address = SocketAddress(unixPath: path) else { throw .path }
        let socket = try socket()
        // Linux creates the file with the mode of the descriptor minus the umask.
        guard fchmod(socket.descriptor, mode) == 0 else { throw .system(.current, call: "fchmod") }
        if !bind(socket, to: address) {
            guard errno == EADDRINUSE else { throw .system(.current, call: "bind") }
            try removeStale(at: path, address: address)
            guard bind(socket, to: address) else { throw .system(.current, call: "bind") }
        }
        let file = SocketFile(path)
        do throws(Obstacle) {
            // Restore the bits that the umask has cleared.
            guard unsafe chmod(path, mode) == 0 else { throw .system(.current, call: "chmod") }
            guard Glibc.listen(socket.descriptor, backlog) == 0 else { throw .system(.current, call: "listen") }
        } catch {
            file?.remove()
            throw error
        }
        return UnixListener(socket: socket, file: file)
    }

    /// Gives up ownership and returns the descriptor.
    consuming func release() -> CInt { socket.release() }

    /// Returns the reason why a socket could not listen at `path`, or nil. Changes nothing. Blocks.
    static func obstacle(at path: String) -> Obstacle? {
        guard let address = SocketAddress(unixPath: path) else { return .path }
        guard SocketFile.status(of: path) != nil else { return nil }
        do throws(Obstacle) {
            try checkStale(at: path, address: address)
            return nil
        } catch {
            return error
        }
    }

    private static func removeStale(at path: String, address: SocketAddress) throws(Obstacle) {
        try checkStale(at: path, address: address)
        unsafe _ = unlink(path)
    }

    /// Throws unless the path is a socket file without a listener.
    private static func checkStale(at path: String, address: SocketAddress) throws(Obstacle) {
        guard let found = SocketFile.status(of: path), found.st_mode & S_IFMT == S_IFSOCK else { throw .otherFile }
        let probe = try socket()
        let isAnswered = unsafe address.withSockaddr { unsafe connect(probe.descriptor, $0, $1) } == 0
        // Only ECONNREFUSED proves that there is no listener. Other errors, such as that of a full queue, do not.
        guard !isAnswered, errno == ECONNREFUSED else { throw .inUse }
    }

    private static func bind(_ socket: borrowing Socket, to address: SocketAddress) -> Bool {
        let descriptor = socket.descriptor
        return unsafe address.withSockaddr { unsafe Glibc.bind(descriptor, $0, $1) } == 0
    }

    private static func socket() throws(Obstacle) -> Socket {
        do throws(SystemError) {
            return try Socket.stream(family: AF_UNIX)
        } catch {
            throw .system(error, call: "socket")
        }
    }
}
