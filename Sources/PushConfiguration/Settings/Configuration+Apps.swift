package import APNs
import PushLogic
package import PushModel
package import PushPipeline
package import PushTransport
import PushWire

extension Configuration {
    /// The maximum number of connections of one app. A higher number is a mistake, or an attack on the push service.
    package static let maxConnections = 1000

    /// An app: one bundle id in one environment, with its credential.
    package struct App: Sendable, Equatable {
        package let id: AppID
        /// The bundle id; the push type of a message adds the suffix.
        package var topic: BundleID
        package var environment: PushEnvironment
        package var credential: Credential
        package var gateway: Gateway
        /// The push service, which is Apple's host for the environment by default (Documentation/Protocols.md, "Hosts").
        package var endpoint: Endpoint
        package var broadcast: Broadcast
        /// The limits above which intake answers `busy` to this app.
        package var limits = AppLimits()
        /// The number of the app in App Store Connect, for notifications and app transactions from production.
        package var appAppleID: Int?

        package init(
            id: AppID,
            topic: BundleID,
            environment: PushEnvironment,
            credential: Credential,
            gateway: Gateway,
            endpoint: Endpoint,
            broadcast: Broadcast,
            limits: AppLimits = AppLimits()
        ) {
            self.id = id
            self.topic = topic
            self.environment = environment
            self.credential = credential
            self.gateway = gateway
            self.endpoint = endpoint
            self.broadcast = broadcast
            self.limits = limits
        }
    }

    package enum Credential: Sendable, Equatable {
        /// A `.p8` file that signs provider tokens, with the ids that Apple assigned to the key and the team.
        case token(key: String, keyID: String, teamID: String)
        /// A certificate and its key in one file, PKCS#12 or PEM.
        case bundle(certificate: String, passwordFile: String?)
        /// A certificate and its key in separate PEM files.
        case certificate(certificate: String, key: String, passwordFile: String?)
    }

    package struct Gateway: Sendable, Equatable {
        package enum WireProtocol: String, Sendable, CaseIterable {
            case http2, binary
        }

        /// HTTP/2, or Apple's former protocol, for simulators and private gateways.
        package var wireProtocol = WireProtocol.http2
        /// The minimum and maximum number of connections. `carillon scale` overrides it until a reload changes it.
        package var connections = 1...4
        /// The maximum number of new connections per minute.
        package var connectsPerMinute = ConnectBudget.Policy.defaultPerMinute
        /// The time for name look-up, TCP, TLS and the first SETTINGS together.
        package var connectTimeout: Duration = .seconds(20)
        /// The time after which a connection with an unanswered push counts as dead.
        package var answerTimeout: Duration = .seconds(30)
        /// The time without received bytes after which a PING is sent.
        package var pingAfter: Duration = .seconds(60)
        /// The time after which a connection with an unanswered PING counts as dead.
        package var pingTimeout: Duration = .seconds(15)
        /// The time without work after which a connection above the minimum is closed.
        package var idle: Duration = .seconds(600)
        /// The feedback service of the binary protocol; nil for HTTP/2.
        package var feedback: Feedback?

        package init() {}
    }

    /// The legacy feedback service, which reports the devices that have uninstalled the app.
    package struct Feedback: Sendable, Equatable {
        package var host: String
        package var port: UInt16 = 2196
        /// The time between two reads of the list; a read clears the list.
        package var interval: Duration = .seconds(86_400)
    }

    package struct Endpoint: Sendable, Equatable, CustomStringConvertible {
        package enum Trust: Sendable, Equatable, CustomStringConvertible {
            /// The roots that this machine trusts.
            case system
            /// The roots in a PEM file, and no others.
            case file(String)

            /// The value as it is written in a configuration. A file that is named like the word has its directory.
            package var description: String {
                switch self {
                case .system: "system"
                case .file(let path): path == "system" ? "./system" : path
                }
            }
        }

        package var host: String
        package var port: UInt16
        package var trust = Trust.system

        package init(
            host: String,
            port: UInt16,
            trust: Trust = .system
        ) {
            self.host = host
            self.port = port
            self.trust = trust
        }

        package var isApple: Bool { Self.isApple(host) }

        package static func isApple(_ host: String) -> Bool { host.lowercased().hasSuffix(".push.apple.com") }

        /// Returns whether the text is an IP address, or has only characters that a name may have.
        package static func isHost(_ text: String) -> Bool {
            if SocketAddress(ip: text, port: 0) != nil { return true }
            return (1...253).contains(text.utf8.count) && text.utf8.allSatisfy(BundleID.isAllowed)
        }

        package var description: String { "\(HostPort(host: host, port: port)), trust \(trust)" }
    }

    /// The hosts for broadcasts and their channels. Documentation/Protocols.md, "Hosts", explains why both are
    /// settings.
    package struct Broadcast: Sendable, Equatable {
        package var send: HostPort
        package var manage: HostPort

        package init(
            send: HostPort,
            manage: HostPort
        ) {
            self.send = send
            self.manage = manage
        }

        /// Creates the default: the endpoint for broadcasts, and Apple's host for channels if the endpoint is Apple's.
        package init(endpoint: Endpoint, environment: PushEnvironment) {
            send = HostPort(host: endpoint.host, port: endpoint.port)
            manage = endpoint.isApple ? environment.broadcastManagement : send
        }
    }
}

extension PushEnvironment {
    /// The hosts that serve this environment. The first one is the default.
    package var hosts: [String] {
        switch self {
        case .production: ["api.push.apple.com"]
        case .sandbox: ["api.sandbox.push.apple.com", "api.development.push.apple.com"]
        }
    }

    package var endpoint: Configuration.Endpoint { Configuration.Endpoint(host: hosts[0], port: 443) }

    /// Apple's host for the management of channels. Broadcasts themselves go to the host for devices by default.
    package var broadcastManagement: HostPort {
        switch self {
        case .production: HostPort(host: "api-manage-broadcast.push.apple.com", port: 2196)
        case .sandbox: HostPort(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
        }
    }
}
