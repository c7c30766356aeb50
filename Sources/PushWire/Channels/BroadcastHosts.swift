/// Where something of the provider's is reached.
package struct ProviderHost: Hashable, Sendable {
    package var name: String
    package var port: UInt16

    package init(_ name: String, _ port: UInt16) {
        self.name = name
        self.port = port
    }
}

/// Where channels are managed and where broadcasts are sent: two hosts (PROTOCOLS A1).
package struct BroadcastHosts: Hashable, Sendable {
    package var management: ProviderHost
    /// The host for devices. Apple's texts also name `api-broadcast…` for this; both are used in the field.
    package var sending: ProviderHost

    package init(management: ProviderHost, sending: ProviderHost) {
        self.management = management
        self.sending = sending
    }

    package static let production = BroadcastHosts(
        management: ProviderHost("api-manage-broadcast.push.apple.com", 2196),
        sending: ProviderHost("api.push.apple.com", 443))

    package static let sandbox = BroadcastHosts(
        management: ProviderHost("api-manage-broadcast.sandbox.push.apple.com", 2195),
        sending: ProviderHost("api.sandbox.push.apple.com", 443))

    package subscript(service: ChannelService) -> ProviderHost {
        switch service {
        case .management: management
        case .sending: sending
        }
    }
}

/// Which of the two hosts a request goes to.
package enum ChannelService: Sendable {
    case management, sending
}
