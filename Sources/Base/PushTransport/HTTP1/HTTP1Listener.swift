import Glibc
import PushLoop

/// A listening socket of a server: a TCP port, or a Unix socket with its file.
final class HTTP1Listener {
    private static let backlog: CInt = 1024

    /// The port; zero for a Unix socket.
    let port: UInt16
    private let listener: TCPListener
    private let file: SocketFile?

    private init(_ socket: consuming Socket, at address: SocketAddress, file: SocketFile?, on server: HTTP1Server) {
        port = address.port
        self.file = file
        listener = TCPListener(
            on: server.loop, listening: socket, at: address,
            failed: { [unowned server] in server.acceptFailed() },
            accepted: { [unowned server] in server.accept($0) })
    }

    var isPaused: Bool {
        get { listener.isPaused }
        set { listener.isPaused = newValue }
    }

    func close() {
        listener.close()
        file?.remove()
    }

    // MARK: TCP

    /// Listens on a TCP address.
    ///
    /// - Parameter host: An IPv4 or IPv6 address, or `localhost`. Other names are rejected, because a lookup would
    ///   block the loop.
    convenience init(host: String, port: UInt16, on server: HTTP1Server) throws(HTTP1Error) {
        guard let wanted = SocketAddress(ip: host == "localhost" ? "127.0.0.1" : host, port: port) else {
            throw HTTP1Error(.badAddress, message: "HTTP cannot listen on \(host): give an IP address or localhost")
        }
        do throws(SystemError) {
            let socket = try Socket.listening(at: wanted, backlog: Self.backlog)
            guard let bound = SocketAddress.local(of: socket.descriptor) else { throw SystemError.current }
            self.init(socket, at: bound, file: nil, on: server)
        } catch {
            throw HTTP1Error(
                error.number == EADDRINUSE ? .inUse : .cannotListen,
                message: "HTTP cannot listen on \(HostPort(host: host, port: port))", underlying: error)
        }
    }

    // MARK: Unix sockets

    /// Listens on a Unix socket. The file has mode 0600 before a client can connect.
    convenience init(unixSocket path: String, on server: HTTP1Server) throws(HTTP1Error) {
        do throws(UnixListener.Obstacle) {
            let listener = try UnixListener.listen(at: path, mode: 0o600, backlog: Self.backlog)
            guard let address = SocketAddress(unixPath: path) else { throw .path }
            let file = listener.file
            self.init(Socket(owning: listener.release()), at: address, file: file, on: server)
        } catch {
            throw Self.error(from: error, at: path)
        }
    }

    private static func error(from obstacle: UnixListener.Obstacle, at path: String) -> HTTP1Error {
        let action = "HTTP cannot listen on \(path)"
        return switch obstacle {
        case .path:
            HTTP1Error(
                .badAddress, message: "\(action): a socket path has 1 to \(SocketAddress.maxUnixPathLength) bytes")
        case .otherFile: HTTP1Error(.inUse, message: "\(action): the file at that path is not a socket; remove it")
        case .inUse: HTTP1Error(.inUse, message: "\(action): another process listens there")
        case .system(let error, let call):
            HTTP1Error(
                error.number == EADDRINUSE ? .inUse : .cannotListen, message: "\(action): \(call) failed",
                underlying: error)
        }
    }
}
