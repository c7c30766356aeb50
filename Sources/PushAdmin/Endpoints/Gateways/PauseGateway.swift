package import PushModel

/// `POST /v1/gateways/{app}/pause`: begins no more attempts for an app, until it is resumed.
package struct PauseGateway: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/gateways/{app}/pause", id: "pauseGateway", access: .role(.operate), subject: "Gateways",
        summary: "Pauses an app: messages are accepted and wait, also across a restart.", problems: [.unknownApp])

    private let control: any GatewayControl

    package init(control: any GatewayControl) {
        self.control = control
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<GatewayAnswer> {
        try caller.check(input.app)
        guard let gateway = try await control.setPaused(true, app: input.app) else {
            throw Problem.unknownApp(input.app.name)
        }
        return Reply(gateway)
    }
}
