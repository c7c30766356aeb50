import PushAPI
import PushModel
import PushStore
import PushText

/// `carillon messages cancel`: cancels a message.
enum CancelVerb {
    static let verb = Verb(
        name: "messages cancel", summary: "cancel a message: what has not gone out does not go out",
        words: [Word("MESSAGE", about: "a message id")],
        options: [
            Option("app", value: "APP", about: "the app or family of the message, if several have this id")
        ]
            + ControlOptions.options + [ControlOptions.json],
        examples: [
            ("carillon messages cancel sale-2026-11", "cancel a broadcast that is half out, or a scheduled message"),
            ("carillon messages cancel order-4711 --app shop", "name the app if several have a message with this id"),
            ("carillon messages cancel sale --app everywhere", "cancel it in all apps of a family"),
        ],
        exits: [
            (.done, "the message is cancelled, or was before"), (.failed, "it is too late: the message is complete"),
            (.badInput, "no message with this id is known"),
        ]
    ) { arguments in
        let id = arguments.word("MESSAGE")
        guard MessageID(id) != nil else {
            throw Failure(.usage, "a message id has 1 to 128 bytes and no control characters")
        }
        let client = try ControlOptions.client(arguments)
        var app = arguments.text("app")
        if app == nil {
            app = try await client.ask(
                "GET", at: "/v1/messages/\(APIQuery.escaped(id))", for: MessageSummary.self
            ).app
        }
        // A conflict is final: the message is complete, and stays so.
        let answer = try await client.ask(
            "POST", at: "/v1/apps/\(APIQuery.escaped(app ?? ""))/messages/\(APIQuery.escaped(id))/cancel",
            finalStatuses: [409], for: CancelledAnswer.self)
        if arguments.has("json") {
            ControlOptions.write(answer)
        } else {
            Terminal.output.write(sentence(answer) + members(answer))
        }
        return .done
    }

    /// Returns a line for each app of a family.
    private static func members(_ answer: CancelledAnswer) -> String {
        guard let apps = answer.apps else { return "" }
        let rows = apps.sorted { $0.key < $1.key }.map { app, status in
            let counts = answer.counts?[app].map { ": \($0.sent) had gone out, \($0.cancelled) not sent" } ?? ""
            let words = PlainText.line(status, limit: 40).replacing("_", with: " ")
            return (name: PlainText.line(app, limit: 64), text: words + counts)
        }
        return "\(EventDescription.count(Int64(rows.count), of: "app")) of the family:\n"
            + PlainText.rows(rows, on: Terminal.output)
    }

    static func sentence(_ answer: CancelledAnswer) -> String {
        let sent = EventDescription.count(Int64(clamping: answer.sent), of: "delivery", plural: "deliveries")
        let cancelled = EventDescription.count(Int64(clamping: answer.cancelled), of: "delivery", plural: "deliveries")
        let name = "The message \(PlainText.line(answer.id, limit: 128)) is cancelled"
        if answer.sent == 0, answer.cancelled == 0 { return "\(name): its devices had not been looked up.\n" }
        return "\(name): \(sent) had gone out, \(cancelled) "
            + "\(answer.cancelled == 1 ? "was" : "were") not sent.\n"
    }
}
