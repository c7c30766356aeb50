import PushConfiguration
package import PushModel

/// `PUT /v1/gateways/{app}/connections`: sets the range of the number of connections.
package struct ScaleGateway: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let min: Int
        let max: Int
        let node: NodeID?

        package init(_ read: inout InputReader) {
            let count = Form.integer(1...Configuration.maxConnections)
            app = read.path("app", as: .app, about: "The app.")
            min = read.body("min", as: count, about: "The minimum number of connections.")
            max = read.body("max", as: count, about: "The maximum number of connections, at least min.")
            node = read.optional(
                "node", as: .node,
                about: "Only this node of the cluster. Without it, all live nodes divide the numbers.")
            read.require(min <= max, at: "max", detail: "min is \(min) and max is \(max); min must not be greater")
        }
    }

    package static let operation = Operation(
        .put, at: "/v1/gateways/{app}/connections", id: "scaleGateway", access: .role(.operate), subject: "Gateways",
        summary: "Sets how many connections an app may have, until a reload or another call changes it.", body: .json,
        example: ["min": 1, "max": 4], problems: [.unknownApp, .unknownNode],
        records: [.operatorScale])

    private let control: any GatewayControl

    package init(control: any GatewayControl) {
        self.control = control
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<GatewayAnswer> {
        try caller.check(input.app)
        let before = try await control.gateway(input.app, on: input.node)
        // Faults of both numbers have been reported before, so that the range is valid.
        guard input.min <= input.max,
            let gateway = try await control.scale(input.app, to: input.min...input.max, on: input.node)
        else { throw Problem.unknownApp(input.app.name) }
        return Reply(
            gateway,
            change: OperatorChange(
                .operatorScale, app: input.app,
                of: "connections" + (input.node.map { " of the node \($0)" } ?? ""),
                before: before.map { ($0.clusterScale ?? $0.scale).text }, after: "\(input.min) to \(input.max)"))
    }
}

extension GatewayAnswer.Scale {
    fileprivate var text: String { "\(min) to \(max)" }
}
