import APNs
import PushLogic
package import PushModel
package import PushPipeline
package import PushTransport
import PushWire

extension Configuration {
    /// The maximum number of connections of one app. A higher number is a mistake, or an attack on the push service.
    package static let maxConnections = 1000

    /// An app: one credential at one push service.
    package struct App: Sendable, Equatable {
        package let id: AppID
        /// The settings that belong to its push service.
        package var service: ServiceSettings
        package var gateway: Gateway
        /// The host of the push service (Documentation/Protocols.md, "Hosts").
        package var endpoint: Endpoint
        /// The limits above which intake answers `busy` to this app.
        package var limits = AppLimits()
        /// The time zone of addresses that have none, for messages that go out at a local time.
        package var timeZone: String?

        package init(
            id: AppID, service: ServiceSettings, gateway: Gateway, endpoint: Endpoint, limits: AppLimits = AppLimits()
        ) {
            self.id = id
            self.service = service
            self.gateway = gateway
            self.endpoint = endpoint
            self.limits = limits
        }
    }

    package struct Gateway: Sendable, Equatable {
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

        package init() {}
    }

    package struct Endpoint: Sendable, Equatable, CustomStringConvertible {
        package enum Trust: Sendable, Hashable, CustomStringConvertible {
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

        package init(_ address: HostPort) {
            self.init(host: address.host, port: address.port)
        }

        package var address: HostPort { HostPort(host: host, port: port) }

        /// Returns whether the text is an IP address, or has only characters that a name may have.
        package static func isHost(_ text: String) -> Bool {
            if SocketAddress(ip: text, port: 0) != nil { return true }
            return (1...253).contains(text.utf8.count) && text.utf8.allSatisfy(BundleID.isAllowed)
        }

        package var description: String { "\(address), trust \(trust)" }
    }
}
