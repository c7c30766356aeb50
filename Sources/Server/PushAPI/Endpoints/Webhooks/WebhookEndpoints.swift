package import PushModel
import PushWire

/// The endpoints of webhooks.
package enum WebhookEndpoints {
    package static func all(_ control: any WebhookControl) -> [AnyEndpoint] {
        [
            AnyEndpoint(ListWebhooks(control: control)), AnyEndpoint(GetWebhook(control: control)),
            AnyEndpoint(TestWebhook(control: control)), AnyEndpoint(SetWebhookPaused(to: true, control: control)),
            AnyEndpoint(SetWebhookPaused(to: false, control: control), as: SetWebhookPaused.resumption),
            AnyEndpoint(SeekWebhook(control: control)),
        ]
    }
}

/// The input of an endpoint that has a webhook in its path.
package struct WebhookPath: EndpointInput {
    let name: String

    package init(_ read: inout InputReader) {
        name = read.path("name", as: .webhook, about: "The name of the webhook.")
    }
}

extension Form where Value == String {
    static var webhook: Form<String> { .name(example: "billing") { AppID($0)?.name } }
}

extension Caller {
    /// Throws for a key that is limited to apps: a webhook gets the events of any.
    fileprivate func checkAllApps() throws(Problem) {
        guard apps == nil else {
            throw Problem(.forbidden, detail: "the key \(name) is limited to apps, and webhooks are not")
        }
    }
}

extension Problem {
    fileprivate static func unknownWebhook(_ name: String) -> Problem {
        Problem(.unknownWebhook, detail: "there is no webhook \"\(name)\" in the configuration")
    }
}

/// `GET /v1/webhooks`: the webhooks with their positions.
package struct ListWebhooks: Endpoint {
    package static let operation = Operation(
        .get, at: "/v1/webhooks", id: "listWebhooks", access: .role(.observe), subject: "Webhooks",
        summary: "Returns the webhooks with their positions, sorted by name.")

    let control: any WebhookControl

    package func answer(_ input: NoInput, for caller: Caller) async throws -> Reply<WebhookListAnswer> {
        try caller.checkAllApps()
        return Reply(WebhookListAnswer(webhooks: await control.webhooks()))
    }
}

/// `GET /v1/webhooks/{name}`: one webhook.
package struct GetWebhook: Endpoint {
    package static let operation = Operation(
        .get, at: "/v1/webhooks/{name}", id: "getWebhook", access: .role(.observe), subject: "Webhooks",
        summary: "Returns a webhook with its position.", problems: [.unknownWebhook])

    let control: any WebhookControl

    package func answer(_ input: WebhookPath, for caller: Caller) async throws -> Reply<WebhookAnswer> {
        try caller.checkAllApps()
        guard let answer = await control.webhook(named: input.name) else { throw Problem.unknownWebhook(input.name) }
        return Reply(answer)
    }
}

/// `POST /v1/webhooks/{name}/test`: sends one event that is in no log.
package struct TestWebhook: Endpoint {
    package static let operation = Operation(
        .post, at: "/v1/webhooks/{name}/test", id: "testWebhook", access: .role(.operate), subject: "Webhooks",
        summary: "Sends one event webhook.test, and waits for the response. The position stays.",
        problems: [.unknownWebhook])

    let control: any WebhookControl

    package func answer(_ input: WebhookPath, for caller: Caller) async throws -> Reply<WebhookTestAnswer> {
        try caller.checkAllApps()
        guard let answer = try await control.test(input.name) else { throw Problem.unknownWebhook(input.name) }
        return Reply(answer)
    }
}

/// `POST /v1/webhooks/{name}/pause` sends nothing more, until `POST /v1/webhooks/{name}/resume`.
package struct SetWebhookPaused: Endpoint {
    package static let operation = Operation(
        .post, at: "/v1/webhooks/{name}/pause", id: "pauseWebhook", access: .role(.operate), subject: "Webhooks",
        summary: "Pauses a webhook, also across a restart. A request under way ends as usual.",
        problems: [.unknownWebhook],
        records: [.operatorWebhookPause])
    static let resumption = Operation(
        .post, at: "/v1/webhooks/{name}/resume", id: "resumeWebhook", access: .role(.operate), subject: "Webhooks",
        summary: "Resumes a webhook that is paused or disabled, or sends again at once after a failure.",
        problems: [.unknownWebhook], records: [.operatorWebhookResume])

    private let isPaused: Bool
    private let control: any WebhookControl

    init(to isPaused: Bool, control: any WebhookControl) {
        self.isPaused = isPaused
        self.control = control
    }

    package func answer(_ input: WebhookPath, for caller: Caller) async throws -> Reply<WebhookAnswer> {
        try caller.checkAllApps()
        let before = await control.webhook(named: input.name)
        guard let answer = try await control.change(input.name, by: isPaused ? .pause : .resume) else {
            throw Problem.unknownWebhook(input.name)
        }
        return Reply(
            answer,
            change: OperatorChange(
                isPaused ? .operatorWebhookPause : .operatorWebhookResume, of: "webhook \(input.name)",
                before: before?.state.rawValue, after: answer.state.rawValue))
    }
}

/// `POST /v1/webhooks/{name}/seek`: moves the position.
package struct SeekWebhook: Endpoint {
    package struct Input: EndpointInput {
        let name: String
        let position: UInt64
        let part: Int?

        package init(_ read: inout InputReader) {
            name = read.path("name", as: .webhook, about: "The name of the webhook.")
            position = read.body(
                "seq", as: .integer(0...UInt64(Int64.max)), about: "The events after this number are delivered next.")
            part = read.optional(
                "part", as: .integer(0...EventNumber.maxParts - 1),
                about: "The part of the log of a cluster. Without it, seq must be 0 there, and all parts begin anew.")
        }

        func text(_ position: UInt64) -> String { part.map { "\($0):\(position)" } ?? "\(position)" }
    }

    package static let operation = Operation(
        .post, at: "/v1/webhooks/{name}/seek", id: "seekWebhook", access: .role(.operate), subject: "Webhooks",
        summary: "Moves the position of a webhook: the events after it are delivered next, again or not at all.",
        body: .json, example: ["seq": 0], problems: [.unknownWebhook, .conflict], records: [.operatorWebhookSeek])

    let control: any WebhookControl

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<WebhookAnswer> {
        try caller.checkAllApps()
        let before = await control.webhook(named: input.name)
        guard let answer = try await control.change(input.name, by: .seek(input.position, part: input.part)) else {
            throw Problem.unknownWebhook(input.name)
        }
        return Reply(
            answer,
            change: OperatorChange(
                .operatorWebhookSeek, of: "webhook \(input.name)",
                before: before.flatMap { $0.position(of: input.part) }.map(input.text),
                after: input.text(input.position)))
    }
}
