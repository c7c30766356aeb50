package import PushTransport

/// The endpoint that a ZeroMQ socket binds.
package enum Bind: Sendable, Equatable, CustomStringConvertible {
    /// A TCP port. The host is a numeric address, or `*` for all addresses.
    case tcp(HostPort)
    /// The file of a Unix socket.
    case ipc(String)
    /// The socket is not bound.
    case off

    /// Whether only this machine can reach the endpoint.
    package var isLocal: Bool {
        switch self {
        case .tcp(let endpoint): SocketAddress(ip: endpoint.host, port: 0)?.isLoopback ?? false
        case .ipc, .off: true
        }
    }

    /// Returns whether the two endpoints cannot both be bound: they are equal, or one covers all addresses of the
    /// other's family.
    package func excludes(_ other: Bind) -> Bool {
        switch (self, other) {
        case (.ipc(let one), .ipc(let two)): return one == two
        case (.tcp(let one), .tcp(let two)):
            guard one.port == two.port, one.port != 0 else { return false }
            let hosts = [one, two].map { Self.numeric($0.host) }
            let families = hosts.map { $0.contains(":") }
            return hosts[0] == hosts[1] || families[0] == families[1] && hosts.contains { Self.everywhere.contains($0) }
        case (.tcp, _), (.ipc, _), (.off, _): return false
        }
    }

    private static let everywhere = ["0.0.0.0", "::"]

    private static func numeric(_ host: String) -> String {
        let host = host == "*" ? "0.0.0.0" : host == "localhost" ? "127.0.0.1" : host
        // An address has several spellings; this returns the same text for all of them.
        return SocketAddress(ip: host, port: 0)?.ip ?? host
    }

    package var description: String {
        switch self {
        case .tcp(let endpoint): "tcp://\(endpoint)"
        case .ipc(let path): "ipc://\(path)"
        case .off: "off"
        }
    }
}
