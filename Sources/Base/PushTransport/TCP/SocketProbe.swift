import Glibc
package import PushLoop

/// Tests of addresses that leave no socket behind.
package enum SocketProbe {
    /// Binds a socket to a TCP address for a moment, without listening. Returns nil if that succeeds.
    package static func bindError(_ endpoint: HostPort) -> SystemError? {
        let host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host == "*" ? "0.0.0.0" : endpoint.host
        guard let address = SocketAddress(ip: host, port: endpoint.port) else { return SystemError(number: EINVAL) }
        do throws(SystemError) {
            let socket = try Socket.stream(family: address.family)
            socket.setOption(SO_REUSEADDR, at: SOL_SOCKET, to: 1)
            if address.family == AF_INET6 { socket.setOption(IPV6_V6ONLY, at: CInt(IPPROTO_IPV6), to: 1) }
            return unsafe address.withSockaddr({ unsafe bind(socket.descriptor, $0, $1) }) == 0 ? nil : .current
        } catch {
            return error
        }
    }

    /// Returns whether a process listens on the Unix socket.
    package static func isListening(unixPath path: String) -> Bool {
        guard let address = SocketAddress(unixPath: path), let socket = try? Socket.stream(family: AF_UNIX) else {
            return false
        }
        let result = unsafe address.withSockaddr { unsafe connect(socket.descriptor, $0, $1) }
        // A full accept queue belongs to a listener, too.
        return result == 0 || errno == EAGAIN
    }
}
