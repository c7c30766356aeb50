package import PushModel

/// `GET /v1/gateways/{app}`: the gateway of one app.
package struct GetGateway: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID
        let node: NodeID?

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            node = read.query("node", as: .node, about: "A node of the cluster; all nodes together by default.")
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/gateways/{app}", id: "getGateway", access: .role(.observe), subject: "Gateways",
        summary: "Returns the gateway of an app with its connections.", problems: [.unknownApp, .unknownNode])

    private let control: any GatewayControl

    package init(control: any GatewayControl) {
        self.control = control
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<GatewayAnswer> {
        try caller.check(input.app)
        guard let gateway = try await control.gateway(input.app, on: input.node) else {
            throw Problem.unknownApp(input.app.name)
        }
        return Reply(gateway)
    }
}
