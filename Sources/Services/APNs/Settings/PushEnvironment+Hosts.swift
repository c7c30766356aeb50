package import PushTransport

/// Apple's hosts (Documentation/Protocols.md, "Hosts").
extension PushEnvironment {
    package static func isHostOfApple(_ host: String) -> Bool { host.lowercased().hasSuffix(".push.apple.com") }

    /// The hosts that serve this environment. The first one is the default.
    package var hosts: [String] {
        switch self {
        case .production: ["api.push.apple.com"]
        case .sandbox: ["api.sandbox.push.apple.com", "api.development.push.apple.com"]
        }
    }

    package var endpoint: HostPort { HostPort(host: hosts[0], port: 443) }

    /// Apple's host for the management of channels. Broadcasts themselves go to the host for devices by default.
    var broadcastManagement: HostPort {
        switch self {
        case .production: HostPort(host: "api-manage-broadcast.push.apple.com", port: 2196)
        case .sandbox: HostPort(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
        }
    }
}
