/// The name of a node of a cluster, `cluster.node` in its configuration. It is unique in the cluster.
package struct NodeID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let name: String

    package init?(_ name: String) {
        // The rules are those of app ids, because both occur in logs, metrics and paths.
        guard AppID(name) != nil else { return nil }
        self.name = name
    }

    package static func < (left: NodeID, right: NodeID) -> Bool { left.name < right.name }

    package var description: String { name }
}
