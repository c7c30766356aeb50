import PushLoop
package import PushModel
package import PushPostgreSQL
package import PushTransport

extension Configuration {
    /// The database that several nodes share.
    package struct Store: Sendable, Equatable {
        package let options: PostgreSQLOptions
        private let url: Secret<String>

        package init(_ url: String) throws(PostgreSQLError) {
            options = try PostgreSQLURL.parse(url)
            self.url = Secret(url)
        }

        /// The URL without its password.
        package var description: String { "\(options)" }

        package static func == (left: Store, right: Store) -> Bool {
            left.url.withRevealed { url in right.url.withRevealed { $0 == url } }
        }
    }

    /// This node among those that share a database.
    package struct Cluster: Sendable, Equatable {
        package enum Durability: String, Sendable, CaseIterable {
            /// A commit waits for a synchronous standby.
            case replicated
            /// The database has no standby, and what was acknowledged is lost with its disk.
            case single
        }

        package static let defaultListen = HostPort(host: "127.0.0.1", port: 5580)

        package var node: NodeID
        /// The address for other nodes.
        package var listen = Self.defaultListen
        /// The address that other nodes connect to; nil for that of `listen`.
        package var advertise: HostPort?
        package var lease: Duration = .seconds(5)
        package var durability = Durability.replicated

        package init(_ node: NodeID) { self.node = node }
    }
}
