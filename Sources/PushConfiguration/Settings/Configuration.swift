package import PushLoop
package import PushText
package import PushTransport

/// All settings of Carillon, read from one file, the environment and flags.
///
/// The comment of each field names its default, and how a reload applies it: *live* is at once, *per connection* is for
/// connections that are opened from then on, and *restart* is after a restart only. ``Reload/table`` has the same facts
/// for the program, and `Config/carillon.json5` for users; a test compares both with the keys that are parsed.
package struct Configuration: Sendable, Equatable {
    /// The directory of ledger, registry and event log. Default `./data`, beside the file. Restart.
    package var data = "data"
    package var intake = Intake()
    package var events = Events()
    package var http = HTTP()
    package var dedupe = Dedupe()
    package var security = Security()
    /// The apps, sorted by id. Adding or removing an app is live.
    package var apps: [App] = []
    package var log = Log()

    package init() {}

    package func app(_ id: String) -> App? { apps.first { $0.id.name == id } }

    /// The sockets for producers.
    package struct Intake: Sendable, Equatable {
        /// The ROUTER socket, which acknowledges messages. Default `tcp://127.0.0.1:5560`. Restart.
        package var router = Bind.tcp(HostPort(host: "127.0.0.1", port: 5560))
        /// The PULL socket, which does not acknowledge messages. Default `tcp://127.0.0.1:5561`. Restart.
        package var pull = Bind.tcp(HostPort(host: "127.0.0.1", port: 5561))
        /// The time that a message without `expires_at` may wait to be sent, counted from its acceptance or its
        /// `not_before`, whichever is later. Default 7 days. Live.
        package var expireAfter: Duration = .seconds(7 * 86_400)
    }

    /// The sockets for monitors.
    package struct Events: Sendable, Equatable {
        /// The PUB socket, for events as they happen. Default `tcp://127.0.0.1:5570`. Restart.
        package var publish = Bind.tcp(HostPort(host: "127.0.0.1", port: 5570))
        /// The ROUTER socket, for events that a monitor missed. Default `tcp://127.0.0.1:5571`. Restart.
        package var replay = Bind.tcp(HostPort(host: "127.0.0.1", port: 5571))
        package var retention = Retention()

        /// The limits of the stored events. The limit that is reached first applies.
        package struct Retention: Sendable, Equatable {
            /// The size on disk. Default 1 GiB. Live.
            package var size = ByteCount(1 << 30)
            /// Default 7 days. Live.
            package var age: Duration = .seconds(7 * 86_400)
        }
    }

    /// The port for health checks and metrics.
    package struct HTTP: Sendable, Equatable {
        /// The address; nil for no port. Default `127.0.0.1:8470`. Restart.
        package var listen: HostPort? = HostPort(host: "127.0.0.1", port: 8470)
        /// Default: none, which is plain HTTP. Adding or removing TLS: restart. Its files: per connection.
        package var tls: TLS?

        package struct TLS: Sendable, Equatable {
            /// A PEM file with certificate and chain, or a PKCS#12 file. Per connection.
            package var certificate: String
            /// A PEM file with the key; nil if the key is in the certificate's file. Per connection.
            package var key: String?
            /// A file whose first line is the password of the key or PKCS#12 file. Default: none. Per connection.
            package var passwordFile: String?
        }
    }

    package struct Dedupe: Sendable, Equatable {
        /// The time for which a message id is remembered for a device. Default 7 days. Live.
        package var window: Duration = .seconds(7 * 86_400)
        /// The maximum number of remembered message ids and deliveries. Above it, new messages are answered `busy`.
        /// Default 50,000,000. Live.
        package var limit = 50_000_000
    }

    package struct Log: Sendable, Equatable {
        package enum Format: String, Sendable, CaseIterable {
            case text, json
        }

        /// The lowest level that is written. Default `info`. Live.
        package var level = LogLevel.info
        /// Default `text`. Live.
        package var format = Format.text
    }
}
