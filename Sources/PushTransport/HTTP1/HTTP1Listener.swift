import Glibc
import PushLoop

/// A listening socket, prepared for libevent's listener.
struct HTTP1Listener {
    let descriptor: CInt
    /// The port; zero for a Unix socket.
    let port: UInt16
    let file: SocketFile?

    private static let backlog: CInt = 1024

    // MARK: TCP

    /// Listens on a TCP address.
    ///
    /// - Parameter host: An IPv4 or IPv6 address, or `localhost`. Other names are rejected, because a lookup would
    ///   block the loop.
    init(host: String, port: UInt16) throws(HTTP1Error) {
        let numeric = host == "localhost" ? "127.0.0.1" : host
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(numeric, "\(port)", &hints, &found) == 0, let found = unsafe found else {
            throw HTTP1Error(.badAddress, message: "HTTP cannot listen on \(host): give an IP address or localhost")
        }
        defer { unsafe freeaddrinfo(found) }
        let family = unsafe found.pointee.ai_family
        let endpoint = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        let descriptor = try Self.socket(family: family, for: endpoint)
        var on: CInt = 1
        let size = socklen_t(MemoryLayout<CInt>.size)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if family == AF_INET6 {
            // Listen on exactly the requested address, whatever the system's default for IPv6 sockets is.
            unsafe _ = setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &on, size)
        }
        guard unsafe bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 else {
            throw Self.failure(of: "bind", at: endpoint, closing: descriptor)
        }
        guard listen(descriptor, Self.backlog) == 0 else {
            throw Self.failure(of: "listen", at: endpoint, closing: descriptor)
        }
        self.descriptor = descriptor
        self.port = Self.boundPort(descriptor)
        file = nil
    }

    private static func boundPort(_ descriptor: CInt) -> UInt16 {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe _ = getsockname(descriptor, $0, &length)
            }
        }
        // The port has the same offset in an IPv4 address.
        return UInt16(bigEndian: address.sin6_port)
    }

    // MARK: Unix sockets

    /// Listens on a Unix socket. The file has mode 0600 before a client can connect.
    init(unixSocket path: String) throws(HTTP1Error) {
        do throws(UnixListener.Obstacle) {
            let listener = try UnixListener.listen(at: path, mode: 0o600, backlog: Self.backlog)
            port = 0
            file = listener.file
            descriptor = listener.release()
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

    // MARK: Errors

    private static func socket(family: CInt, for endpoint: String) throws(HTTP1Error) -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(family, kind, 0)
        guard descriptor >= 0 else {
            throw HTTP1Error(
                .cannotListen, message: "HTTP cannot listen on \(endpoint): socket failed",
                underlying: SystemError.current)
        }
        return descriptor
    }

    private static func failure(of call: String, at endpoint: String, closing descriptor: CInt) -> HTTP1Error {
        let error = SystemError.current
        close(descriptor)
        let code: HTTP1Error.Code = error.number == EADDRINUSE ? .inUse : .cannotListen
        return HTTP1Error(code, message: "HTTP cannot listen on \(endpoint): \(call) failed", underlying: error)
    }
}
