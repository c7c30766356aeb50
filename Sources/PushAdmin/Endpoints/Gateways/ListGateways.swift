package import PushModel

/// `GET /v1/gateways`: the gateways of all apps.
package struct ListGateways: Endpoint {
    package struct Input: EndpointInput {
        let node: NodeID?

        package init(_ read: inout InputReader) {
            node = read.query("node", as: .node, about: "A node of the cluster; all nodes together by default.")
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/gateways", access: .role(.observe), subject: "Gateways",
        summary: "Returns the gateways with their connections, sorted by app.",
        problems: [.unknownNode])

    private let control: any GatewayControl

    package init(control: any GatewayControl) {
        self.control = control
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<GatewayList> {
        let gateways = try await control.gateways(of: input.node)
        guard let apps = caller.apps else { return Reply(GatewayList(gateways: gateways)) }
        let names = Set(apps.map(\.name))
        return Reply(GatewayList(gateways: gateways.filter { names.contains($0.app) }))
    }
}
