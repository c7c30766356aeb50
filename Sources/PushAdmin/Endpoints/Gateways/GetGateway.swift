package import PushModel

/// `GET /v1/gateways/{app}`: the gateway of one app.
package struct GetGateway: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/gateways/{app}", access: .role(.observe), subject: "Gateways",
        summary: "Returns the gateway of an app with its connections.", problems: [.unknownApp])

    private let control: any GatewayControl

    package init(control: any GatewayControl) {
        self.control = control
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<GatewayAnswer> {
        try caller.check(input.app)
        guard let gateway = await control.gateway(input.app) else { throw Problem.unknownApp(input.app.name) }
        return Reply(gateway)
    }
}
