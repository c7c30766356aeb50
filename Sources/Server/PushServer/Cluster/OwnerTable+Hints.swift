import PushModel
import PushWire

extension OwnerTable {
    /// Returns the answer to `cluster/1`: the live nodes with their addresses and partitions.
    ///
    /// - Parameter node: The node that answers.
    func hints(of node: NodeID) -> [UInt8] {
        var parts: [NodeID: [JSONValue]] = [:]
        for (number, owner) in owners.enumerated() {
            switch owner {
            case .this: parts[node, default: []].append(.integer(Int64(number)))
            case .other(let other, _): parts[other, default: []].append(.integer(Int64(number)))
            case .nobody: break
            }
        }
        let nodes = endpoints.sorted { $0.key < $1.key }.map { name, endpoints -> JSONValue in
            var members: [String: JSONValue] = ["node": .string(name.name), "parts": .array(parts[name] ?? [])]
            members["router"] = endpoints.router.map { .string($0) }
            members["http"] = endpoints.http.map { .string($0) }
            return .object(members)
        }
        return JSONValue.object([
            "node": .string(node.name), "partitions": .integer(Int64(owners.count)), "nodes": .array(nodes),
        ]).bytes
    }
}
