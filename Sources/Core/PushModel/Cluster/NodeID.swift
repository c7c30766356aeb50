/// The name of a node of a cluster, `cluster.node` in its configuration. It is unique in the cluster.
package struct NodeID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let name: String

    /// Creates a node id; nil unless `name` has 1 to 64 characters of `a-z A-Z 0-9 . _ -`. It is used in logs, metrics
    /// and paths.
    package init?(_ name: String) {
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.name = name
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default:
            false
        }
    }

    package static func < (left: NodeID, right: NodeID) -> Bool { left.name < right.name }

    package var description: String { name }
}
