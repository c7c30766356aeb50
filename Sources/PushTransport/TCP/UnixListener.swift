import Glibc
import PushLoop

/// A Unix socket that listens.
struct UnixListener: ~Copyable {
    /// Why nothing is listened on.
    enum Obstacle: Error {
        /// The path is empty, too long, or has a zero byte in it.
        case path
        /// The file that is there is no socket.
        case otherFile
        /// Another process listens there.
        case inUse
        case system(SystemError, call: String)
    }

    private let socket: Socket
    let file: SocketFile?

    /// Listens at `path`, with a file of these permissions whatever the umask: at no time may more users connect.
    ///
    /// A socket file that nobody listens on is what an earlier process left behind, and is replaced. Nothing else is.
    static func listen(at path: String, mode: mode_t, backlog: CInt) throws(Obstacle) -> UnixListener {
        guard let address = SocketAddress(unixPath: path) else { throw .path }
        let socket = try socket()
        // Linux makes the file with the mode of the descriptor, less the umask.
        guard fchmod(socket.descriptor, mode) == 0 else { throw .system(.current, call: "fchmod") }
        if !bind(socket, to: address) {
            guard errno == EADDRINUSE else { throw .system(.current, call: "bind") }
            try removeStale(path, address)
            guard bind(socket, to: address) else { throw .system(.current, call: "bind") }
        }
        let file = SocketFile(path)
        do throws(Obstacle) {
            // What the umask has taken.
            guard unsafe chmod(path, mode) == 0 else { throw .system(.current, call: "chmod") }
            guard Glibc.listen(socket.descriptor, backlog) == 0 else { throw .system(.current, call: "listen") }
        } catch {
            file?.remove()
            throw error
        }
        return UnixListener(socket: socket, file: file)
    }

    /// The descriptor, which is the caller's from now on.
    consuming func release() -> CInt { socket.release() }

    /// The file at `path` that keeps a socket from listening there, or nil. Changes nothing. Blocks.
    static func obstacle(at path: String) -> Obstacle? {
        guard let address = SocketAddress(unixPath: path) else { return .path }
        guard SocketFile.status(of: path) != nil else { return nil }
        do throws(Obstacle) {
            try checkStale(path, address)
            return nil
        } catch {
            return error
        }
    }

    private static func removeStale(_ path: String, _ address: SocketAddress) throws(Obstacle) {
        try checkStale(path, address)
        unsafe _ = unlink(path)
    }

    /// Throws unless there is a socket file that nobody listens on.
    private static func checkStale(_ path: String, _ address: SocketAddress) throws(Obstacle) {
        guard let found = SocketFile.status(of: path), found.st_mode & S_IFMT == S_IFSOCK else { throw .otherFile }
        let probe = try socket()
        let isAnswered = unsafe address.withSockaddr { unsafe connect(probe.descriptor, $0, $1) } == 0
        // Only a refusal shows that nobody is there; a full queue, for one, does not.
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
