package import PushTransport

/// The settings of an app at APNs, besides those that apps of every push service have.
package struct APNsSettings: Sendable, Equatable {
    package enum WireProtocol: String, Sendable, CaseIterable {
        case http2, binary
    }

    /// The bundle id; the push type of a message adds the suffix.
    package var topic: BundleID
    package var environment: PushEnvironment
    package var credential: CredentialFiles
    /// HTTP/2, or Apple's former protocol, for simulators and private gateways.
    package var wireProtocol = WireProtocol.http2
    /// The feedback service of the binary protocol; nil for HTTP/2.
    package var feedback: FeedbackSettings?
    package var broadcast: BroadcastHosts
    /// The number of the app in App Store Connect, for notifications and app transactions from production.
    package var appAppleID: Int?

    package init(
        topic: BundleID, environment: PushEnvironment, credential: CredentialFiles, broadcast: BroadcastHosts
    ) {
        self.topic = topic
        self.environment = environment
        self.credential = credential
        self.broadcast = broadcast
    }
}

/// The feedback service of the binary protocol, which reports the devices that have uninstalled the app.
package struct FeedbackSettings: Sendable, Equatable {
    package var host: String
    package var port: UInt16
    /// The time between two reads of the list; a read clears the list.
    package var interval: Duration

    package init(host: String, port: UInt16 = 2196, interval: Duration = .seconds(86_400)) {
        self.host = host
        self.port = port
        self.interval = interval
    }
}

/// The hosts for broadcasts and their channels. Documentation/Protocols.md, "Hosts", explains why both are settings.
package struct BroadcastHosts: Sendable, Equatable {
    package var send: HostPort
    package var manage: HostPort

    package init(send: HostPort, manage: HostPort) {
        self.send = send
        self.manage = manage
    }

    /// Creates the default: the endpoint for broadcasts, and Apple's host for channels if the endpoint is Apple's.
    package init(endpoint: HostPort, environment: PushEnvironment) {
        send = endpoint
        manage = PushEnvironment.isHostOfApple(endpoint.host) ? environment.broadcastManagement : endpoint
    }
}
