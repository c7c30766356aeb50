package import PushModel

/// The part of a node in a number of connections that an operator has set for all nodes of the cluster.
package enum ConnectionShare {
    /// Returns the range that operators have set for an app on a node; nil if that of the configuration is in force.
    ///
    /// A mark that names the node comes before one for all of them. A mark that replaced another range than the one in
    /// the configuration of the node does not apply: the configuration has changed since.
    ///
    /// - Parameter live: The live nodes. This node is counted even if it is not among them yet.
    package static func range(
        of app: AppID, on node: NodeID, configured: ClosedRange<Int>, marks: [SharedScale], live: Set<NodeID>
    ) -> ClosedRange<Int>? {
        let own = marks.filter { $0.app == app && $0.configured == configured }
        if let mark = own.first(where: { $0.node == node }) { return mark.connections }
        return own.first { $0.node == nil }.map { share(of: $0.connections, on: node, live: live) }
    }

    /// Divides a range. What cannot be divided goes to the nodes with the first names. Each node gets at least one
    /// connection, because it sends for its own partitions, so that a number below that of the nodes is exceeded.
    package static func share(
        of total: ClosedRange<Int>, on node: NodeID, live: Set<NodeID>
    ) -> ClosedRange<Int> {
        let nodes = live.union([node])
        let place = nodes.count { $0 < node }
        func part(_ number: Int) -> Int {
            max(1, number / nodes.count + (place < number % nodes.count ? 1 : 0))
        }
        let low = part(total.lowerBound)
        return low...max(low, part(total.upperBound))
    }
}
