package import PushModel

/// `GET /readyz`: whether a push can be sent now.
package struct GetReadiness: Endpoint {
    package struct Input: EndpointInput {
        let app: AppID?

        package init(_ read: inout InputReader) {
            app = read.query("app", as: .app, about: "Judges this app alone.")
        }
    }

    package static let operation = Operation(
        .get, at: "/readyz", id: "getReadiness", access: .open, subject: "Health",
        summary: "Tells whether a push can be sent now.",
        answers: [
            .init(200, about: "A push can be sent."), .init(503, about: "A push cannot be sent; reason says why."),
        ], problems: [.unknownApp])

    private let source: any HealthSource

    package init(source: any HealthSource) {
        self.source = source
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<Readiness> {
        let all = await source.readiness()
        guard let app = input.app else { return Reply(all, status: all.ready ? 200 : 503) }
        guard let one = all.alone(app.name) else { throw Problem.unknownApp(app.name) }
        return Reply(one, status: one.ready ? 200 : 503)
    }
}
