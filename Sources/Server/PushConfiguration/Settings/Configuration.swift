package import PushLoop
package import PushModel
package import PushText
package import PushTransport

/// All settings of Carillon, read from one file, the environment and flags.
///
/// The tables of ``Setting`` values map its fields to the keys of the file, and say what each means, which values are
/// allowed, and when a change applies. The defaults are the values of the fields.
package struct Configuration: Sendable, Equatable {
    /// The directory of ledger, registry and event log.
    package var data = "data"
    /// The database of a cluster; nil for files in `data`.
    package var store: Store?
    /// This node of a cluster; nil without `store`.
    package var cluster: Cluster?
    package var intake = Intake()
    package var events = Events()
    package var operators = Operators()
    package var http = HTTP()
    package var doors = Doors()
    package var dedupe = Dedupe()
    package var security = Security()
    /// The apps, sorted by id.
    package var apps: [App] = []
    /// The families of apps, sorted by name.
    package var families: [Family] = []
    package var log = Log()
    package var receipts = ReceiptRules()
    /// The receivers of events over HTTP, sorted by name.
    package var webhooks: [Webhook] = []

    package init() {}

    package func app(_ id: String) -> App? { apps.first { $0.id.name == id } }

    /// The sockets for producers.
    package struct Intake: Sendable, Equatable {
        /// The ROUTER socket, which acknowledges messages.
        package var router = Bind.tcp(HostPort(host: "127.0.0.1", port: 5560))
        /// The PULL socket, which does not acknowledge messages.
        package var pull = Bind.tcp(HostPort(host: "127.0.0.1", port: 5561))
        /// The time that a message without `expires_at` may wait to be sent, counted from its acceptance or its
        /// `not_before`, whichever is later.
        package var expireAfter: Duration = .seconds(7 * 86_400)
    }

    /// The sockets for monitors.
    package struct Events: Sendable, Equatable {
        /// The PUB socket, for events as they happen.
        package var publish = Bind.tcp(HostPort(host: "127.0.0.1", port: 5570))
        /// The ROUTER socket, for events that a monitor missed.
        package var replay = Bind.tcp(HostPort(host: "127.0.0.1", port: 5571))
        package var retention = Retention()

        /// The limits of the stored events. The limit that is reached first applies.
        package struct Retention: Sendable, Equatable {
            /// The size on disk.
            package var size = ByteCount(1 << 30)
            package var age: Duration = .seconds(7 * 86_400)
        }
    }

    /// The events that say what operators did.
    package struct Operators: Sendable, Equatable {
        /// The age of the oldest of these events. They are kept apart from the others.
        package var retention: Duration = .seconds(365 * 86_400)
    }

    /// The port of the HTTP API.
    package struct HTTP: Sendable, Equatable {
        /// The address; nil for no port.
        package var listen: HostPort? = HostPort(host: "127.0.0.1", port: 8470)
        /// The maximum number of connections, if the limit of open files allows so many.
        package var connections = 16_384
        /// The maximum difference between the clock of a client that signs requests and this one.
        package var signatureWindow: Duration = .seconds(300)
        /// The names by which clients may address the server, besides those that it has by itself.
        package var hosts: [String] = []
        /// Whether other machines may reach the port without TLS.
        package var insecure = false
        /// The files of TLS; nil for plain HTTP.
        package var tls: TLS?
        /// The registration of devices without keys; nil for none.
        package var legacyRegistration: LegacyRegistration?

        /// An endpoint for apps in the field that register their devices without a key.
        package struct LegacyRegistration: Sendable, Equatable {
            package static let defaultPath = "/admin/apns_devices.json"

            package var app: AppID
            package var path = Self.defaultPath
        }

        package struct TLS: Sendable, Equatable {
            /// A PEM file with certificate and chain, or a PKCS#12 file.
            package var certificate: String
            /// A PEM file with the key; nil if the key is in the certificate's file.
            package var key: String?
            /// A file whose first line is the password of the key or PKCS#12 file.
            package var passwordFile: String?
        }
    }

    package struct Dedupe: Sendable, Equatable {
        /// The time for which a message id is remembered for a device.
        package var window: Duration = .seconds(7 * 86_400)
        /// The maximum number of remembered message ids and deliveries. Above it, new messages are answered `busy`.
        package var limit = 50_000_000
    }

    package struct Log: Sendable, Equatable {
        package enum Format: String, Sendable, CaseIterable {
            case text, json
        }

        /// The lowest level that is written.
        package var level = LogLevel.info
        package var format = Format.text
    }
}
