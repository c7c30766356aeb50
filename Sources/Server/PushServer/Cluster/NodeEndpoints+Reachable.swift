import PushModel
import PushTransport

extension NodeEndpoints {
    /// Creates the addresses that other machines can use.
    ///
    /// - Parameters:
    ///   - router: The endpoint to which the ROUTER is bound.
    ///   - http: The address to which the HTTP server is bound.
    ///   - host: The host of this node for other nodes. It replaces an address that stands for all interfaces.
    init(boundRouter router: String?, boundHTTP http: String?, reachedAt host: String) {
        self.init(router: Self.reachable(router, at: host), http: Self.reachable(http, at: host))
    }

    /// Returns nil for a socket of the file system, and if no other machine could use the address.
    private static func reachable(_ bound: String?, at host: String) -> String? {
        guard let bound, let separator = bound.firstRange(of: "://"),
            let address = HostPort(String(bound[separator.upperBound...]))
        else { return nil }
        guard isAnyInterface(address.host) else { return bound }
        guard !isAnyInterface(host) else { return nil }
        return "\(bound[..<separator.upperBound])\(HostPort(host: host, port: address.port))"
    }

    private static func isAnyInterface(_ host: String) -> Bool { ["0.0.0.0", "::", "*"].contains(host) }
}
