/// A server in the URL: a name or an address with a port, or the directory of a Unix socket.
package struct PostgreSQLHost: Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let port: UInt16

    package static let defaultPort: UInt16 = 5432

    package init(name: String, port: UInt16 = defaultPort) {
        self.name = name
        self.port = port
    }

    /// Whether the host is the directory of a Unix socket.
    package var isSocketDirectory: Bool { name.hasPrefix("/") }

    /// Whether the traffic stays on this machine. The client checks that `localhost` has a loopback address.
    package var isLocal: Bool {
        isSocketDirectory || name.lowercased() == "localhost" || Self.isLoopback(name)
    }

    /// Whether a numeric address is one of this machine itself.
    package static func isLoopback(_ address: String) -> Bool {
        if address == "::1" { return true }
        let parts = address.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    package var description: String {
        name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)"
    }
}

/// One address to connect to.
package struct PostgreSQLTarget: Hashable, Sendable, CustomStringConvertible {
    /// The host, whose name the server's certificate must have.
    package let host: PostgreSQLHost
    /// The numeric address; nil for a Unix socket.
    package let address: String?

    package init(host: PostgreSQLHost, address: String?) {
        self.host = host
        self.address = address
    }

    package var description: String {
        guard let address, address != host.name else { return "\(host)" }
        return "\(host) (\(address))"
    }
}
