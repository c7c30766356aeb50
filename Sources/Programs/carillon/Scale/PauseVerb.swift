import PushAPI
import PushModel

/// `carillon pause` and `carillon resume`: stop sending for an app of a running Carillon, and continue.
enum PauseVerb {
    static let pause = Verb(
        name: "pause", summary: "stop sending for an app until it is resumed; messages are still accepted",
        words: [Word("APP", about: "an app of the configuration")],
        options: ControlOptions.options + [ControlOptions.json],
        examples: [("carillon pause shop", "start no more deliveries of the app, also after a restart")],
        notes: "Deliveries in flight end as usual. Waiting messages keep their places and still expire."
    ) { try await run("pause", with: $0) }

    static let resume = Verb(
        name: "resume", summary: "continue sending for an app that was paused",
        words: [Word("APP", about: "an app of the configuration")],
        options: ControlOptions.options + [ControlOptions.json],
        examples: [("carillon resume shop", "send what waited during the pause")]
    ) { try await run("resume", with: $0) }

    private static func run(_ action: String, with arguments: Arguments) async throws -> ExitCode {
        guard let app = AppID(arguments.word("APP")) else {
            throw Failure(.usage, "APP is not an app id: 1 to 64 letters, digits, '.', '_' and '-'")
        }
        let gateway = try await ControlOptions.client(arguments).ask(
            "POST", at: "/v1/gateways/\(app)/\(action)", for: GatewayAnswer.self)
        if arguments.has("json") {
            ControlOptions.write(gateway)
        } else {
            Terminal.output.write(GatewayTable(Terminal.output).text([gateway]))
        }
        return .done
    }
}
