package import PushLogic
package import PushLoop
package import PushModel
package import PushPostgreSQL
package import PushTime

extension ClusterShell {
    package struct Settings: Sendable {
        package var node: NodeID
        package var contact: NodeContact
        package var policy: ClusterPolicy
        /// The data directory, whose lock this process holds.
        package var directory: String
        package var options: PostgreSQLOptions
        package var session = PostgreSQLSession.Settings()
        package var resolver: PostgreSQLSession.Resolver
        package var retryDelay: @Sendable (_ failures: Int) -> Duration = { .milliseconds(min(50 << min($0, 5), 1000)) }
        /// The version of the program, which other nodes show.
        package var version = ""
        /// Returns the addresses of this node for producers, as far as they are known. Called on the loop of the shell.
        package var endpoints: @Sendable () -> NodeEndpoints = { NodeEndpoints() }
        /// The last renewal of this node that a database has acknowledged to an earlier process.
        package var seen: SeenRenewal?
        package var hooks = Hooks()

        package init(
            _ node: NodeID, contact: NodeContact, policy: ClusterPolicy, directory: String,
            options: PostgreSQLOptions, resolver: @escaping PostgreSQLSession.Resolver
        ) {
            self.node = node
            self.contact = contact
            self.policy = policy
            self.directory = directory
            self.options = options
            self.resolver = resolver
        }
    }

    /// The observers of a shell. They are called on its loop, and must not wait.
    package struct Hooks: Sendable {
        package var event: @Sendable (ClusterEvent) -> Void = { _ in }
        /// Called once when the node is not a member any more and does not join again. The reason is nil if the owner of
        /// the shell has asked for it.
        package var end: @Sendable (_ reason: String?) -> Void = { _ in }
        /// Called when a node should look at the tables at once. The hint may be lost.
        package var hint: @Sendable (NodeID, NodeContact) -> Void = { _, _ in }
        /// Called with sentences for the log.
        package var warning: @Sendable (String) -> Void = { _ in }
        /// Called with the name and the duration of each operation, and whether the database answered.
        package var operation: @Sendable (_ name: String, Duration, _ isAnswered: Bool) -> Void = { _, _, _ in }
        /// Called with readings of the database's clock.
        package var clock: @Sendable (ClockReading) -> Void = { _ in }
        /// Called when the node has joined and after each renewal, with the time at which that was sent.
        package var renewed: @Sendable (MonotonicTime) -> Void = { _ in }
        /// Called after each renewal that the database has acknowledged.
        package var acknowledged: @Sendable (SeenRenewal) -> Void = { _ in }
        /// Called when the members of the cluster or the owners of partitions have changed.
        package var owners: @Sendable (OwnerTable) -> Void = { _ in }

        package init() {}
    }
}
