import PushModel
import PushPipeline
import PushTransport

extension Configuration {
    /// One bundle id in one environment with its credential.
    struct App: Sendable, Equatable {
        let id: AppID
        /// The bundle id; suffixes follow from the push type. No default. Per connection: a connection belongs to the
        /// bundle ids it was opened with (PROTOCOLS A2).
        var topic: String
        /// No default. Restart: devices and what is remembered of them belong to one environment.
        var environment: PushEnvironment
        /// No default. Per connection.
        var credential: Credential
        var gateway: Gateway
        /// The push service. Default Apple's of the environment (PROTOCOLS A1). Per connection.
        var endpoint: Endpoint
        var broadcast: Broadcast
        /// What the app may hold before intake is busy for it: messages that wait, default 1,000,000; messages that are
        /// scheduled, default 1,000,000; message ids that are remembered, default 20,000,000. Live.
        var limits = AppLimits()
    }

    enum Credential: Sendable, Equatable {
        /// A `.p8` file with the ids that Apple gave with it: provider tokens.
        case token(key: String, keyID: String, teamID: String)
        /// Certificate and key in one file, PKCS#12 or PEM.
        case bundle(certificate: String, passwordFile: String?)
        /// Certificate and key in PEM files of their own.
        case certificate(certificate: String, key: String, passwordFile: String?)
    }

    struct Gateway: Sendable, Equatable {
        enum WireProtocol: String, Sendable, CaseIterable {
            case http2, binary
        }

        /// Default `http2`. `binary` is Apple's former protocol, for simulators and private gateways. Restart.
        var wireProtocol = WireProtocol.http2
        /// How many connections there are. Default 1 to 4. Live; `carillon scale` overrides it until the next reload
        /// that changes it.
        var connections = 1...4
        /// How many connections may be begun in a minute; Apple takes many for an attack. Default 6. Live.
        var connectsPerMinute = 6
        /// For name, TCP, TLS and the first SETTINGS together. Default 20 s. Per connection.
        var connectTimeout: Duration = .seconds(20)
        /// How long a push may stay unanswered before its connection is taken for dead. Default 30 s. Per connection.
        var answerTimeout: Duration = .seconds(30)
        /// Quiet time after which a connection is asked whether it lives. Default 60 s. Per connection.
        var pingAfter: Duration = .seconds(60)
        /// How long the answer to that may take. Default 15 s. Per connection.
        var pingTimeout: Duration = .seconds(15)
        /// Time without work after which a connection above the least number is closed. Default 10 min. Live.
        var idle: Duration = .seconds(600)
        /// Of the binary protocol only, nil otherwise.
        var feedback: Feedback?
    }

    /// The legacy feedback service: what it names has uninstalled the app.
    struct Feedback: Sendable, Equatable {
        /// Default the endpoint's host. Live.
        var host: String
        /// Default 2196. Live.
        var port: UInt16 = 2196
        /// How often it is read; reading clears its list. Default 1 day. Live.
        var interval: Duration = .seconds(86_400)
    }

    struct Endpoint: Sendable, Equatable, CustomStringConvertible {
        enum Trust: Sendable, Equatable, CustomStringConvertible {
            /// The roots that this machine trusts.
            case system
            /// A PEM file, and no other roots.
            case file(String)

            var description: String {
                switch self {
                case .system: "system"
                case .file(let path): path
                }
            }
        }

        var host: String
        /// Default 443; 2195 for the binary protocol.
        var port: UInt16
        /// Default the system's roots; must be said for a host that is not Apple's.
        var trust = Trust.system

        var isApple: Bool { Self.isApple(host) }

        static func isApple(_ host: String) -> Bool { host.lowercased().hasSuffix(".push.apple.com") }

        var description: String { "\(HostPort(host: host, port: port)), trust \(trust)" }
    }

    /// Where broadcasts and their channels are (PROTOCOLS A1: the hosts in use differ).
    struct Broadcast: Sendable, Equatable {
        /// Default the endpoint. Per connection.
        var send: HostPort
        /// Default Apple's for the environment, or the endpoint where that is not Apple's. Per connection.
        var manage: HostPort
    }
}

extension PushEnvironment {
    /// The hosts that serve this environment; the first is the one to use.
    var hosts: [String] {
        switch self {
        case .production: ["api.push.apple.com"]
        case .sandbox: ["api.sandbox.push.apple.com", "api.development.push.apple.com"]
        }
    }

    var endpoint: Configuration.Endpoint { Configuration.Endpoint(host: hosts[0], port: 443) }

    /// Where channels are managed; broadcasts go to the host for devices. Apple's texts also name `api-broadcast…` for
    /// these, and both are in use.
    var broadcastManagement: HostPort {
        switch self {
        case .production: HostPort(host: "api-manage-broadcast.push.apple.com", port: 2196)
        case .sandbox: HostPort(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
        }
    }
}
