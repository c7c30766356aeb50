package import PushModel
package import PushPipeline
package import PushTransport

extension Configuration {
    /// An app: one bundle id in one environment, with its credential.
    package struct App: Sendable, Equatable {
        package let id: AppID
        /// The bundle id; the push type of a message adds the suffix. No default. Per connection, because Apple binds a
        /// connection to the bundle ids of its credential (Documentation/Protocols.md, "TLS and connections").
        package var topic: String
        /// No default. Restart, because devices and their remembered deliveries belong to one environment.
        package var environment: PushEnvironment
        /// No default. Per connection.
        package var credential: Credential
        package var gateway: Gateway
        /// The push service. Default: Apple's host for the environment (Documentation/Protocols.md, "Hosts"). Per
        /// connection.
        package var endpoint: Endpoint
        package var broadcast: Broadcast
        /// The limits above which intake answers `busy` to this app: waiting messages, default 1,000,000; scheduled
        /// messages, default 1,000,000; remembered message ids, default 20,000,000. Live.
        package var limits = AppLimits()

        package init(
            id: AppID,
            topic: String,
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

        /// Default `http2`. `binary` is Apple's former protocol, for simulators and private gateways. Restart.
        package var wireProtocol = WireProtocol.http2
        /// The minimum and maximum number of connections. Default 1 to 4. Live; `carillon scale` overrides it until a
        /// reload changes it.
        package var connections = 1...4
        /// The maximum of new connections per minute; Apple treats frequent connecting as an attack. Default 6. Live.
        package var connectsPerMinute = 6
        /// The time for name look-up, TCP, TLS and the first SETTINGS together. Default 20 s. Per connection.
        package var connectTimeout: Duration = .seconds(20)
        /// The time after which a connection with an unanswered push counts as dead. Default 30 s. Per connection.
        package var answerTimeout: Duration = .seconds(30)
        /// The time without received bytes after which a PING is sent. Default 60 s. Per connection.
        package var pingAfter: Duration = .seconds(60)
        /// The time after which a connection with an unanswered PING counts as dead. Default 15 s. Per connection.
        package var pingTimeout: Duration = .seconds(15)
        /// The time without work after which a connection above the minimum is closed. Default 10 min. Live.
        package var idle: Duration = .seconds(600)
        /// The feedback service of the binary protocol; nil for HTTP/2.
        package var feedback: Feedback?

        package init() {}
    }

    /// The legacy feedback service, which reports the devices that have uninstalled the app.
    package struct Feedback: Sendable, Equatable {
        /// Default: the host of the endpoint. Live.
        package var host: String
        /// Default 2196. Live.
        package var port: UInt16 = 2196
        /// The time between two reads of the list; a read clears the list. Default 1 day. Live.
        package var interval: Duration = .seconds(86_400)
    }

    package struct Endpoint: Sendable, Equatable, CustomStringConvertible {
        package enum Trust: Sendable, Equatable, CustomStringConvertible {
            /// The roots that this machine trusts.
            case system
            /// The roots in a PEM file, and no others.
            case file(String)

            package var description: String {
                switch self {
                case .system: "system"
                case .file(let path): path
                }
            }
        }

        package var host: String
        /// Default 443; 2195 for the binary protocol.
        package var port: UInt16
        /// Default: the roots of the system. Required for a host that is not Apple's.
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

        package var description: String { "\(HostPort(host: host, port: port)), trust \(trust)" }
    }

    /// The hosts for broadcasts and their channels. Documentation/Protocols.md, "Hosts", explains why both are
    /// settings.
    package struct Broadcast: Sendable, Equatable {
        /// Default: the endpoint. Per connection.
        package var send: HostPort
        /// Default: Apple's host for the environment, or the endpoint if that is not Apple's. Per connection.
        package var manage: HostPort

        package init(
            send: HostPort,
            manage: HostPort
        ) {
            self.send = send
            self.manage = manage
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
