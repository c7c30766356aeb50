import PushAPI
import PushConfiguration
import PushLogic
import PushLoop
import PushModel
import PushTime

/// The gateways as part of a cluster: numbers of connections that operators set for all nodes or one of them, and what
/// nodes find out about push services. A single node has none of it.
extension ServedGateways {
    /// How long a report of another node stays valid. The node repeats it once a second.
    private static let reportLifetime: Duration = .seconds(3)

    // MARK: Other nodes

    /// The way to another node.
    struct OtherNode: Sendable {
        let own: ServedNode
        let name: NodeID

        func ask<Value: Codable & Sendable>(_ question: NodeQuestion) async throws(Problem) -> Value {
            try await own.ask(question, of: name)
        }
    }

    /// Returns the way to a node, or nil if it is this one.
    nonisolated func other(_ name: NodeID?) throws(Problem) -> OtherNode? {
        guard let name else { return nil }
        guard let node = dependencies.pipeline.node else { throw Problem.unknownNode(name.name) }
        return name == node.name ? nil : OtherNode(own: node, name: name)
    }

    /// Returns the result for an app, or throws that there is no such app.
    nonisolated func known<Value: Sendable>(_ app: AppID, in value: Value?) throws(Problem) -> Value {
        guard let value else { throw Problem.unknownApp(app.name) }
        return value
    }

    /// Returns the gateways of all nodes together.
    func allGateways(of node: ServedNode) async -> [GatewayAnswer] {
        async let others = node.askOthers(NodeQuestion(.gateways), for: [GatewayAnswer].self)
        let own = await ownGateways()
        return GatewayAnswer.sum(
            [(node.name, .success(own))]
                + (await others).map { ($0.node, $0.answer.mapError { LedgerFault($0.detail) }) })
    }

    /// Returns the gateway of an app on all nodes together.
    func allGateways(of node: ServedNode, app: AppID) async -> GatewayAnswer? {
        async let others = node.askOthers(NodeQuestion(.gateway, app: app), for: GatewayAnswer.self)
        let own = await ownGateway(app)
        return GatewayAnswer.sum(
            [(node.name, .success(own))]
                + (await others).map { other in
                    switch other.answer {
                    case .success(let answer): (other.node, .success(answer))
                    // A node that has not read the newest configuration does not have a new app.
                    case .failure(let problem) where problem.code == .unknownApp: (other.node, .success(nil))
                    case .failure(let problem): (other.node, .failure(LedgerFault(problem.detail)))
                    }
                })
    }

    func ownGateways() async -> [GatewayAnswer] {
        var answers: [GatewayAnswer] = []
        for served in apps.values.sorted(by: { $0.app.id.name < $1.app.id.name }) {
            answers.append(await answer(served))
        }
        return answers
    }

    func ownGateway(_ app: AppID) async -> GatewayAnswer? {
        guard let served = apps[app] else { return nil }
        return await answer(served)
    }

    private func answer(_ served: ServedApp) async -> GatewayAnswer {
        var answer = GatewayAnswer(await status(served))
        guard let node = dependencies.pipeline.node else { return answer }
        answer = answer.named(node.name)
        let ranges = node.live.map { range(of: served.app, on: $0, live: node.live) }
        let (low, high) = ranges.reduce((0, 0)) { ($0.0 + $1.lowerBound, $0.1 + $1.upperBound) }
        answer.clusterScale = GatewayAnswer.Scale(low...max(low, high))
        return answer
    }

    // MARK: Numbers of connections

    /// Returns the range that is in force for an app on this node: that of operators, or that of the configuration.
    func range(of app: Configuration.App) -> ClosedRange<Int> {
        guard let node = dependencies.pipeline.node else { return app.gateway.connections }
        return range(of: app, on: node.name, live: node.live)
    }

    private func range(of app: Configuration.App, on node: NodeID, live: Set<NodeID>) -> ClosedRange<Int> {
        let configured = app.gateway.connections
        return ConnectionShare.range(of: app.id, on: node, configured: configured, marks: scales, live: live)
            ?? configured
    }

    /// Stores the range that an operator wants, and returns the part of this node in it.
    ///
    /// - Parameter name: This node, or nil if all nodes divide the range.
    func share(
        _ connections: ClosedRange<Int>, of app: Configuration.App, on name: NodeID?
    ) async throws(Problem) -> ClosedRange<Int> {
        guard let node = dependencies.pipeline.node else { return connections }
        let mark = SharedScale(app.id, node: name, connections: connections, configured: app.gateway.connections)
        if let fault = await node.scale(mark) {
            throw Problem(.unavailable, detail: "the number of connections cannot be stored: \(fault); try again")
        }
        scales.removeAll { $0.app == app.id && (name == nil || $0.node == name) }
        scales.append(mark)
        scalesChangedAt = .current()
        return range(of: app)
    }

    /// Forgets what operators have set for an app, because its configuration has changed.
    func forgetScales(of app: AppID) {
        guard let node = dependencies.pipeline.node, scales.contains(where: { $0.app == app }) else { return }
        node.removeScales(of: app)
        scales.removeAll { $0.app == app }
        scalesChangedAt = .current()
    }

    // MARK: What the nodes share

    /// Carries out the pauses that other nodes of the cluster have begun or ended.
    private func followPauses(_ shared: SharedApps) {
        for app in pauses.follow(shared.paused, readAt: shared.readAt) {
            let isPaused = pauses.contains(app)
            dependencies.pipeline.router.setPaused(isPaused, app: app)
            apps[app]?.gateway?.setPaused(isPaused)
            dependencies.log.notice(
                isPaused
                    ? "app paused on another node: nothing is sent until it is resumed" : "app resumed on another node",
                [.app: app.name, .event: isPaused ? "app.paused" : "app.resumed"])
        }
    }

    /// Takes what the nodes share, about once a second: follows pauses and numbers of connections, also when nodes come
    /// and go, believes what others report about push services, and reports the same.
    func follow(_ shared: SharedApps) {
        guard let node = dependencies.pipeline.node, !isEnding else { return }
        // A reading from before a change of this node does not have it.
        if shared.readAt >= scalesChangedAt { scales = shared.scales }
        followPauses(shared)
        for (id, served) in apps {
            let wanted = range(of: served.app)
            guard wanted != served.connections else { continue }
            setConnections(wanted, of: id)
            dependencies.log.notice(
                "number of connections follows the cluster",
                [
                    .event: "connection.scaled", .app: id.name, .minimum: wanted.lowerBound,
                    .maximum: wanted.upperBound,
                ])
        }
        for report in shared.reports {
            for trouble in report.report.troubles {
                guard let served = apps[trouble.app], served.loaded?.connectionNumber == trouble.connection else {
                    continue
                }
                served.gateway?.warn(trouble.kind, for: Self.reportLifetime)
            }
        }
        node.publish(
            apps.values.compactMap { served in
                guard let kind = served.journal.trouble, let loaded = served.loaded else { return nil }
                return GatewayTrouble(served.app.id, kind: kind, connection: loaded.connectionNumber)
            })
    }
}
