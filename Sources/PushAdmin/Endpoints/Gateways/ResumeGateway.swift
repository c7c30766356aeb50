package import PushModel

/// `POST /v1/gateways/{app}/resume`: ends a pause.
package struct ResumeGateway: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
        }
    }

    package static let operation = Operation(
        .post, at: "/v1/gateways/{app}/resume", id: "resumeGateway", access: .role(.operate), subject: "Gateways",
        summary: "Resumes an app that was paused.", problems: [.unknownApp])

    private let control: any GatewayControl

    package init(control: any GatewayControl) {
        self.control = control
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<GatewayAnswer> {
        try caller.check(input.app)
        guard let gateway = try await control.setPaused(false, app: input.app) else {
            throw Problem.unknownApp(input.app.name)
        }
        return Reply(gateway)
    }
}
