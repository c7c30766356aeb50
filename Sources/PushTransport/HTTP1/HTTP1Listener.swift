import Glibc
import PushLoop

/// A listening socket, made ready for libevent's listener to take over.
struct HTTP1Listener {
    let descriptor: CInt
    /// Zero for a Unix socket.
    let port: UInt16
    let file: SocketFile?

    /// The file of a Unix socket, known by its inode: it is removed only while it is still the one made here.
    struct SocketFile {
        let path: String
        private let device: dev_t
        private let inode: ino_t

        init?(_ path: String) {
            guard let found = HTTP1Listener.status(of: path) else { return nil }
            self.path = path
            (device, inode) = (found.st_dev, found.st_ino)
        }

        func remove() {
            guard let found = HTTP1Listener.status(of: path), found.st_dev == device, found.st_ino == inode else {
                return
            }
            unsafe _ = unlink(path)
        }
    }

    private static let backlog: CInt = 1024

    // MARK: TCP

    /// - Parameter host: An IPv4 or IPv6 address, or `localhost`. No other names: a look-up would block the loop.
    init(host: String, port: UInt16) throws(HTTP1Error) {
        let numeric = host == "localhost" ? "127.0.0.1" : host
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(numeric, "\(port)", &hints, &found) == 0, let found = unsafe found else {
            throw HTTP1Error(.badAddress, "HTTP cannot listen on \(host): give an IP address or localhost")
        }
        defer { unsafe freeaddrinfo(found) }
        let family = unsafe found.pointee.ai_family
        let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        let descriptor = try Self.socket(family, for: place)
        var on: CInt = 1
        let size = socklen_t(MemoryLayout<CInt>.size)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if family == AF_INET6 {
            // What is listened on is what was asked for, whatever the machine's default.
            unsafe _ = setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &on, size)
        }
        guard unsafe bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 else {
            throw Self.failure("bind", place, closing: descriptor)
        }
        guard listen(descriptor, Self.backlog) == 0 else {
            throw Self.failure("listen", place, closing: descriptor)
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
        // At the same place in IPv4's.
        return UInt16(bigEndian: address.sin6_port)
    }

    // MARK: Unix sockets

    /// The file gets mode 0600 before anyone can connect to it.
    init(unixSocket path: String) throws(HTTP1Error) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard !path.isEmpty, path.utf8.count < room, !path.utf8.contains(0) else {
            throw HTTP1Error(.badAddress, "HTTP cannot listen on \(path): a socket's path has 1 to \(room - 1) bytes")
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let descriptor = try Self.socket(AF_UNIX, for: path)
        // On Linux, bind gives the file the mode of the socket.
        fchmod(descriptor, 0o600)
        if !Self.bindUnix(descriptor, address) {
            guard errno == EADDRINUSE else { throw Self.failure("bind", path, closing: descriptor) }
            do throws(HTTP1Error) {
                try Self.removeStale(path, address)
            } catch {
                close(descriptor)
                throw error
            }
            guard Self.bindUnix(descriptor, address) else { throw Self.failure("bind", path, closing: descriptor) }
        }
        let file = SocketFile(path)
        guard listen(descriptor, Self.backlog) == 0 else {
            file?.remove()
            throw Self.failure("listen", path, closing: descriptor)
        }
        self.descriptor = descriptor
        port = 0
        self.file = file
    }

    private static func removeStale(_ path: String, _ address: sockaddr_un) throws(HTTP1Error) {
        guard let found = status(of: path), found.st_mode & S_IFMT == S_IFSOCK else {
            throw HTTP1Error(.inUse, "HTTP cannot listen on \(path): a file that is no socket is there; remove it")
        }
        let probe = try socket(AF_UNIX, for: path)
        defer { close(probe) }
        var address = address
        let answered = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(probe, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        // Only a refusal shows that nobody is there; a full queue, for one, does not.
        guard !answered, errno == ECONNREFUSED else {
            throw HTTP1Error(.inUse, "HTTP cannot listen on \(path): another process does")
        }
        unsafe _ = unlink(path)
    }

    private static func bindUnix(_ descriptor: CInt, _ address: sockaddr_un) -> Bool {
        var address = address
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    // MARK: Both

    private static func socket(_ family: CInt, for place: String) throws(HTTP1Error) -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(family, kind, 0)
        guard descriptor >= 0 else {
            throw HTTP1Error(
                .cannotListen, "HTTP cannot listen on \(place): no socket", underlying: SystemError.current)
        }
        return descriptor
    }

    private static func failure(_ call: String, _ place: String, closing descriptor: CInt) -> HTTP1Error {
        let error = SystemError.current
        close(descriptor)
        let code: HTTP1Error.Code = error.number == EADDRINUSE ? .inUse : .cannotListen
        return HTTP1Error(code, "HTTP cannot listen on \(place): \(call) failed", underlying: error)
    }

    private static func status(of path: String) -> stat? {
        var found = stat()
        return unsafe lstat(path, &found) == 0 ? found : nil
    }
}
