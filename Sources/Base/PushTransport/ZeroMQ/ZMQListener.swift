private import CLinux
import Glibc
import PushLoop

/// A listening TCP socket, created here and passed to libzmq (`ZMQ_USE_FD`). Some operations need the owner of the
/// descriptor: leaving new connections waiting while existing ones continue, and ignoring resets.
///
/// Both use packet filters (`SO_ATTACH_FILTER`), which any process may attach to its own sockets. They have no effect
/// if the kernel does not support them.
final class ZMQListener {
    private let socket: Socket
    private let ignoresResets: Bool
    let port: UInt16

    /// Creates a listener. Returns nil for endpoints that libzmq must parse: other transports, and addresses that are
    /// not numeric.
    static func make(
        for endpoint: String, backlog: Int, ignoresResets: Bool
    ) throws(ZMQError) -> ZMQListener? {
        guard let address = address(of: endpoint) else { return nil }
        do throws(SystemError) {
            return try ZMQListener(at: address, backlog: backlog, ignoresResets: ignoresResets)
        } catch {
            throw ZMQError(number: error.number, action: "bind \(endpoint)")
        }
    }

    /// Parses an endpoint as libzmq does: `tcp://127.0.0.1:5560`, `tcp://[::1]:5560`, `*` for all IPv4 addresses or for
    /// any port.
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
            // Attach it before a client can connect: connections inherit the filter that their listener has at that
            // moment.
            if ignoresResets { _ = CLinux_ignore_resets(descriptor) }
        }
        guard let bound = SocketAddress.local(of: socket.descriptor) else { throw .current }
        port = bound.port
        self.ignoresResets = ignoresResets
        self.socket = socket
    }

    /// Returns a copy of the descriptor for libzmq.
    func copy(for endpoint: String) throws(ZMQError) -> CInt {
        let copy = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw ZMQError(number: errno, action: "bind \(endpoint)") }
        return copy
    }

    var isAccepting = true {
        didSet {
            guard isAccepting != oldValue else { return }
            let descriptor = socket.descriptor
            if !isAccepting {
                _ = CLinux_receive_nothing(descriptor)
            } else {
                _ = ignoresResets ? CLinux_ignore_resets(descriptor) : CLinux_receive_everything(descriptor)
            }
        }
    }
}
