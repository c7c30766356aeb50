import PushModel

/// The option `--node` of verbs that ask one node of a cluster.
enum NodeOption {
    /// Returns the node that is named; nil if none is.
    static func node(_ arguments: Arguments) throws(Failure) -> NodeID? {
        guard let name = arguments.text("node") else { return nil }
        guard let node = NodeID(name) else {
            throw Failure(.usage, "'--node' must be a name of 1 to 64 letters, digits, '.', '_' and '-', not '\(name)'")
        }
        return node
    }

    /// Returns the query of a request to that node.
    static func query(_ node: NodeID?) -> String { node.map { "?node=\($0)" } ?? "" }
}
