private import CLinux
import Glibc
import PushLoop

/// A TCP socket that listens, made here and lent to libzmq (`ZMQ_USE_FD`), because some things can only be done to it
/// by the owner of the descriptor: to leave connections waiting while those that stand live on, and not to hear resets.
///
/// Both are packet filters (`SO_ATTACH_FILTER`), which any process may put on its own sockets. Where the kernel has none
/// they do nothing.
final class ZMQListener {
    private let socket: Socket
    private let ignoresResets: Bool
    let port: UInt16

    /// Nil for an endpoint that libzmq has to look at: not TCP, or not a numeric address.
    static func make(
        for endpoint: String, backlog: Int, ignoresResets: Bool
    ) throws(ZMQError) -> ZMQListener? {
        guard let address = address(of: endpoint) else { return nil }
        do throws(SystemError) {
            return try ZMQListener(at: address, backlog: backlog, ignoresResets: ignoresResets)
        } catch {
            throw ZMQError(number: error.number, "bind \(endpoint)")
        }
    }

    /// As libzmq reads it: `tcp://127.0.0.1:5560`, `tcp://[::1]:5560`, `*` for all addresses of IPv4 or for any port.
    static func address(of endpoint: String) -> SocketAddress? {
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else { return nil }
        var host = endpoint[..<colon].dropFirst("tcp://".count)
        let digits = endpoint[endpoint.index(after: colon)...]
        guard let port = digits == "*" ? 0 : UInt16(digits) else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return SocketAddress(ip: host == "*" ? "0.0.0.0" : String(host), port: port)
    }

    private init(at address: SocketAddress, backlog: Int, ignoresResets: Bool) throws(SystemError) {
        let socket = try Socket.listening(at: address, backlog: CInt(clamping: backlog)) { descriptor in
            // Before anyone can connect: connections have the filter that their listener has at that moment.
            if ignoresResets { _ = CLinux_ignore_resets(descriptor) }
        }
        guard let bound = SocketAddress.local(of: socket.descriptor) else { throw .current }
        port = bound.port
        self.ignoresResets = ignoresResets
        self.socket = socket
    }

    /// A descriptor of the same socket, for libzmq to keep.
    func copy(for endpoint: String) throws(ZMQError) -> CInt {
        let copy = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw ZMQError(number: errno, "bind \(endpoint)") }
        return copy
    }

    var isAccepting = true {
        didSet {
            guard isAccepting != oldValue else { return }
            let descriptor = socket.descriptor
            if !isAccepting {
                _ = CLinux_hear_nothing(descriptor)
            } else {
                _ = ignoresResets ? CLinux_ignore_resets(descriptor) : CLinux_hear_everything(descriptor)
            }
        }
    }
}
