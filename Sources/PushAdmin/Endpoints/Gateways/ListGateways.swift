package import PushModel

/// `GET /v1/gateways`: the gateways of all apps.
package struct ListGateways: Endpoint {
    package static let operation = Operation(
        .get, at: "/v1/gateways", access: .role(.observe), subject: "Gateways",
        summary: "Returns the gateways with their connections, sorted by app.")

    private let control: any GatewayControl

    package init(control: any GatewayControl) {
        self.control = control
    }

    package func answer(_ input: NoInput, for caller: Caller) async -> Reply<GatewayList> {
        let gateways = await control.gateways()
        guard let apps = caller.apps else { return Reply(GatewayList(gateways: gateways)) }
        let names = Set(apps.map(\.name))
        return Reply(GatewayList(gateways: gateways.filter { names.contains($0.app) }))
    }
}
