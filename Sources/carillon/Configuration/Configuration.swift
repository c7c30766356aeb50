import PushLoop
import PushTransport

/// All that a person decides about a Carillon, read from one file, the environment and flags.
///
/// Each field says its default and when a reload applies it: *live*, at once; *per connection*, to connections made
/// from then on; on *restart* only. `Reload.table` says the same to the program, and `Config/carillon.json5` to people;
/// a test holds both against the keys that are parsed.
struct Configuration: Sendable, Equatable {
    /// Directory of ledger, registry and event log. Default `./data`, beside the file. Restart.
    var data = "data"
    var intake = Intake()
    var events = Events()
    var http = HTTP()
    var dedupe = Dedupe()
    var security = Security()
    /// In the order of their ids. An app that comes or goes with a reload: live.
    var apps: [App] = []
    var log = Log()

    func app(_ id: String) -> App? { apps.first { $0.id.name == id } }

    /// The sockets at which producers hand in.
    struct Intake: Sendable, Equatable {
        /// ROUTER, answered. Default `tcp://127.0.0.1:5560`. Restart.
        var router = Bind.tcp(HostPort(host: "127.0.0.1", port: 5560))
        /// PULL, unanswered. Default `tcp://127.0.0.1:5561`. Restart.
        var pull = Bind.tcp(HostPort(host: "127.0.0.1", port: 5561))
        /// How long a message without `expires_at` may wait to be sent, from its acceptance or its `not_before`, whichever
        /// is later. Default 7 days. Live.
        var expireAfter: Duration = .seconds(7 * 86_400)
    }

    /// The sockets at which monitors listen.
    struct Events: Sendable, Equatable {
        /// PUB. Default `tcp://127.0.0.1:5570`. Restart.
        var publish = Bind.tcp(HostPort(host: "127.0.0.1", port: 5570))
        /// ROUTER for what was missed. Default `tcp://127.0.0.1:5571`. Restart.
        var replay = Bind.tcp(HostPort(host: "127.0.0.1", port: 5571))
        var retention = Retention()

        /// How much of the past can be asked for again; whichever bound is reached first.
        struct Retention: Sendable, Equatable {
            /// Bytes on disk. Default 1 GiB. Live.
            var size = ByteCount(1 << 30)
            /// Default 7 days. Live.
            var age: Duration = .seconds(7 * 86_400)
        }
    }

    /// The port for people and tools.
    struct HTTP: Sendable, Equatable {
        /// Nil for none. Default `127.0.0.1:8470`. Restart.
        var listen: HostPort? = HostPort(host: "127.0.0.1", port: 8470)
        /// Default none: in the clear. Restart, for whether there is TLS; per connection, for its files.
        var tls: TLS?

        struct TLS: Sendable, Equatable {
            /// PEM with its chain, or PKCS#12. Per connection.
            var certificate: String
            /// PEM; nil if it is in the certificate's file. Per connection.
            var key: String?
            /// File whose first line is the password of key or PKCS#12. Default none. Per connection.
            var passwordFile: String?
        }
    }

    struct Dedupe: Sendable, Equatable {
        /// How long a message id is remembered for a device. Default 7 days. Live.
        var window: Duration = .seconds(7 * 86_400)
        /// How many message ids and deliveries are remembered at most; then new messages are answered `busy`. Default
        /// 50,000,000. Live.
        var limit = 50_000_000
    }

    struct Log: Sendable, Equatable {
        enum Format: String, Sendable, CaseIterable {
            case text, json
        }

        /// What is written: this level and what is above it. Default `info`. Live.
        var level = LogLevel.info
        /// Default `text`. Live.
        var format = Format.text
    }
}

/// A place for a ZeroMQ socket to bind.
enum Bind: Sendable, Equatable, CustomStringConvertible {
    /// A numeric address, or `*` for all.
    case tcp(HostPort)
    /// A Unix socket's file.
    case ipc(String)
    /// Not at all.
    case off

    /// Whether only this machine can reach it.
    var isLocal: Bool {
        switch self {
        case .tcp(let place): SocketAddress(ip: place.host, port: 0)?.isLoopback ?? false
        case .ipc, .off: true
        }
    }

    /// Whether not both can be bound: they are the same place, or one is all addresses of the other's family.
    func excludes(_ other: Bind) -> Bool {
        switch (self, other) {
        case (.ipc(let one), .ipc(let two)): return one == two
        case (.tcp(let one), .tcp(let two)):
            guard one.port == two.port, one.port != 0 else { return false }
            let hosts = [one, two].map { Self.numeric($0.host) }
            let families = hosts.map { $0.contains(":") }
            return hosts[0] == hosts[1] || families[0] == families[1] && hosts.contains { Self.everywhere.contains($0) }
        case (.tcp, _), (.ipc, _), (.off, _): return false
        }
    }

    private static let everywhere = ["0.0.0.0", "::"]

    private static func numeric(_ host: String) -> String {
        let host = host == "*" ? "0.0.0.0" : host == "localhost" ? "127.0.0.1" : host
        // One address has several spellings.
        return SocketAddress(ip: host, port: 0)?.ip ?? host
    }

    var description: String {
        switch self {
        case .tcp(let place): "tcp://\(place)"
        case .ipc(let path): "ipc://\(path)"
        case .off: "off"
        }
    }
}

/// A size in bytes, written as people do.
struct ByteCount: Sendable, Hashable, Comparable, CustomStringConvertible {
    let bytes: Int64

    init(_ bytes: Int64) {
        self.bytes = bytes
    }

    static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }

    var description: String {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] as [(Int64, String)]
        where bytes > 0 && bytes % (1 << shift) == 0 {
            return "\(bytes >> shift)\(unit)"
        }
        return "\(bytes)B"
    }
}
