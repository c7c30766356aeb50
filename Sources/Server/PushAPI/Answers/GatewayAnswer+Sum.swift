package import PushModel

extension GatewayAnswer {
    /// What a node knows about the gateway of an app: nil if its configuration does not have the app.
    package typealias OfNode = (node: NodeID, answer: Result<GatewayAnswer?, LedgerFault>)

    /// Returns the gateway of an app on all nodes together, or nil if none of them has the app.
    ///
    /// The sum looks like the gateway of a single node. Each connection has the name of its node, because the numbers
    /// of connections repeat from node to node.
    package static func sum(_ parts: [OfNode]) -> GatewayAnswer? {
        let parts = parts.sorted { $0.node < $1.node }
        var sum: GatewayAnswer?
        var nodes: [Node] = []
        for (node, result) in parts {
            switch result {
            case .success(let answer?):
                let answer = answer.named(node)
                nodes.append(Node(node, of: answer))
                if sum == nil { sum = answer } else { sum?.add(answer) }
            case .success(nil): break
            case .failure(let fault):
                var missing = Node(node.name)
                missing.fault = fault.description
                nodes.append(missing)
            }
        }
        sum?.nodes = nodes
        if let own = sum, let different = nodes.first(where: { $0.fault == nil && $0.state != "up" }),
            nodes.contains(where: { $0.state == "up" })
        {
            sum?.state = "on node \(different.node): \(different.state ?? own.state)"
        }
        sum?.node = nil
        sum?.clusterScale = nil
        return sum
    }

    /// Returns the gateways of all nodes, sorted by app.
    package static func sum(_ parts: [(node: NodeID, answer: Result<[GatewayAnswer], LedgerFault>)]) -> [GatewayAnswer]
    {
        let names = Set(parts.flatMap { part in (try? part.answer.get())?.map(\.app) ?? [] })
        return names.sorted().compactMap { name in
            sum(parts.map { part in (part.node, part.answer.map { all in all.first { $0.app == name } }) })
        }
    }

    /// Returns the gateway with the name of its node, also at each connection.
    package func named(_ name: NodeID) -> GatewayAnswer {
        var named = self
        named.node = name.name
        for index in named.connections.indices { named.connections[index].node = name.name }
        return named
    }

    private mutating func add(_ other: GatewayAnswer) {
        scale.min &+= other.scale.min
        scale.max &+= other.scale.max
        queue &+= other.queue
        credit &+= other.credit
        connections += other.connections
        fault = fault ?? other.fault
        pausedAt = pausedAt ?? other.pausedAt
    }
}

extension GatewayAnswer.Node {
    fileprivate init(_ node: NodeID, of answer: GatewayAnswer) {
        self.init(node.name)
        (state, scale, queue, credit) = (answer.state, answer.scale, answer.queue, answer.credit)
    }
}
