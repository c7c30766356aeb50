/// The facts that identify the database of a cluster. They are read at each connection.
package struct DatabaseIdentity: Hashable, Sendable {
    /// `system_identifier` of PostgreSQL. It is the same on the primary and its standbys.
    package let system: UInt64
    /// The timeline of the write-ahead log. It grows when a standby is promoted.
    package let timeline: UInt32
    /// The incarnation of the cluster, a random number that `store restored` changes.
    package let cluster: Int64
    /// The number of partitions, which is fixed when the cluster is created.
    package let partitions: Int

    package init(system: UInt64, timeline: UInt32, cluster: Int64, partitions: Int) {
        self.system = system
        self.timeline = timeline
        self.cluster = cluster
        self.partitions = partitions
    }
}
