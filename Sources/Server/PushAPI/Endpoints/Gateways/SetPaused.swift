package import PushModel

/// `POST /v1/gateways/{app}/pause` begins no more attempts for an app, until `POST /v1/gateways/{app}/resume`.
package struct SetPaused: Endpoint {
    package typealias Input = AppPath

    package static let operation = Operation(
        .post, at: "/v1/gateways/{app}/pause", id: "pauseGateway", access: .role(.operate), subject: "Gateways",
        summary: "Pauses an app: messages are accepted and wait, also across a restart.", problems: [.unknownApp],
        records: [.operatorPause])
    static let resumption = Operation(
        .post, at: "/v1/gateways/{app}/resume", id: "resumeGateway", access: .role(.operate), subject: "Gateways",
        summary: "Resumes an app that was paused.", problems: [.unknownApp],
        records: [.operatorResume])

    private let isPaused: Bool
    private let control: any GatewayControl

    init(to isPaused: Bool, control: any GatewayControl) {
        self.isPaused = isPaused
        self.control = control
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<GatewayAnswer> {
        try caller.check(input.app)
        let before = try await control.gateway(input.app)
        guard let gateway = try await control.setPaused(isPaused, app: input.app) else {
            throw Problem.unknownApp(input.app.name)
        }
        return Reply(
            gateway,
            change: OperatorChange(
                isPaused ? .operatorPause : .operatorResume, app: input.app, of: "sending",
                before: before.map { Self.word($0.pausedAt != nil) }, after: Self.word(isPaused)))
    }

    private static func word(_ isPaused: Bool) -> String { isPaused ? "paused" : "running" }
}
