package import PushModel

/// The last renewal of a node's lease that the database has acknowledged, as a number that grows with each.
///
/// The row of the number is written in the transaction of the renewal, and a renewal is acknowledged when the
/// synchronous standby has it, too. So a database whose number is smaller has lost a commit that it had acknowledged: it
/// was restored from a backup. A standby that was promoted has the number. The position of the log (LSN) of the primary
/// would not do: it may be ahead of that of the standby.
package struct SeenRenewal: Sendable, Equatable {
    /// The node whose renewal it is: a copy of a data directory may become that of another node.
    package let node: String
    package let number: Int64
    /// The incarnation of the cluster, which `carillon store restored` changes.
    package let cluster: Int64
    /// The server that has acknowledged it, with its timeline.
    package let system: UInt64
    package let timeline: UInt32

    package init(_ number: Int64, node: NodeID, cluster: Int64, system: UInt64, timeline: UInt32) {
        (self.node, self.number, self.cluster) = (node.name, number, cluster)
        (self.system, self.timeline) = (system, timeline)
    }

    /// What a database is that has a smaller number.
    enum Verdict: Equatable {
        /// It has lost what it had acknowledged.
        case restored
        /// It may be a primary that was replaced and has not noticed, which has lost nothing: another server has it. Or
        /// it was restored from a backup that is older than the replacement.
        case replaced
    }

    /// Judges a database; nil if it has what it has acknowledged, or if this says nothing about it.
    func verdict(on number: Int64, of node: NodeID, cluster: Int64, system: UInt64, timeline: UInt32) -> Verdict? {
        guard self.node == node.name, self.cluster == cluster, number < self.number else { return nil }
        return self.system == system && timeline < self.timeline ? .replaced : .restored
    }
}
