import Glibc
import PushLoop

/// A Unix socket that listens, made here and lent to libzmq (`ZMQ_USE_FD`): libzmq would delete whatever file is in the
/// way, another process's socket included, and leave the new file's permissions to the umask.
enum IPCListener {
    /// The path of an `ipc://` endpoint; nil for any other, and for those without a file: abstract names and wildcards.
    static func path(of endpoint: String) -> String? {
        guard endpoint.hasPrefix("ipc://") else { return nil }
        let path = String(endpoint.dropFirst("ipc://".count))
        return path.hasPrefix("@") || path.hasPrefix("*") ? nil : path
    }

    /// Listens at `path`. The descriptor is the caller's.
    ///
    /// A socket file that nobody listens on is what an earlier process left behind, and is replaced. Nothing else is.
    static func listen(at path: String, mode: mode_t, backlog: Int) throws(ZMQError) -> CInt {
        let action = "bind ipc://\(path)"
        guard var address = Address(path) else {
            throw ZMQError(
                .invalidEndpoint, "cannot \(action): a path to a socket has at most \(Address.longest) bytes")
        }
        try clear(path, &address, action)
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ZMQError(number: errno, action) }
        // Linux makes the file with the mode of the descriptor, less the umask: so at no time may more users connect.
        guard fchmod(descriptor, mode) == 0, unsafe address.withSockaddr({ unsafe bind(descriptor, $0, $1) }) == 0,
            // And no fewer, whatever the umask.
            unsafe chmod(path, mode) == 0, Glibc.listen(descriptor, CInt(clamping: backlog)) == 0
        else {
            let number = errno
            close(descriptor)
            throw ZMQError(number: number, action)
        }
        return descriptor
    }

    private static func clear(_ path: String, _ address: inout Address, _ action: String) throws(ZMQError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ZMQError(
                .addressInUse,
                "cannot \(action): the file that is there is not a socket; remove it, or choose another path")
        }
        let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard probe >= 0 else { throw ZMQError(number: errno, action) }
        defer { close(probe) }
        let isRefused = unsafe address.withSockaddr { unsafe connect(probe, $0, $1) } != 0 && errno == ECONNREFUSED
        guard isRefused else {
            throw ZMQError(
                .addressInUse, "cannot \(action): another process listens there; stop it, or choose another path")
        }
        guard unsafe unlink(path) == 0 else { throw ZMQError(number: errno, action) }
    }

    private struct Address {
        static let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

        private var address = sockaddr_un()

        /// Nil when the path is too long, or has a zero byte in it.
        init?(_ path: String) {
            let bytes = Array(path.utf8)
            guard (1...Self.longest).contains(bytes.count), !bytes.contains(0) else { return nil }
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        }

        mutating func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
            unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
    }
}
