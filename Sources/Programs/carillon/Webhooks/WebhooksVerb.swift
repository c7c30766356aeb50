import PushAPI
import PushModel
import PushText
import PushWire

/// `carillon webhooks`: the receivers of events over HTTP of a running Carillon.
enum WebhooksVerb {
    private enum Action: String, CaseIterable {
        case test, pause, resume, seek
    }

    static let verb = Verb(
        name: "webhooks", summary: "show the receivers of events over HTTP, and test, pause, resume or move one",
        words: [
            Word("NAME", about: "a webhook of the configuration; all if left out", isOptional: true),
            Word("ACTION", about: "test, pause, resume or seek", isOptional: true),
            Word("N", about: "for seek: the events after this number are delivered next", isOptional: true),
        ],
        options: ControlOptions.options + [ControlOptions.json],
        examples: [
            ("carillon webhooks", "all webhooks with their positions"),
            ("carillon webhooks billing test", "send one event webhook.test, and show the response"),
            ("carillon webhooks billing resume", "continue after a pause, or after the receiver answered 410"),
            ("carillon webhooks billing seek 4711", "deliver the events after number 4711, again or not at all"),
        ],
        notes: "lag is the number of events behind the newest one, of any topic. A paused webhook loses nothing while "
            + "its events are kept (events.retention)."
    ) { arguments in
        let client = try ControlOptions.client(arguments)
        guard let name = arguments.wordIfGiven("NAME") else {
            show(try await client.ask("GET", at: "/v1/webhooks", for: WebhookListAnswer.self).webhooks, by: arguments)
            return .done
        }
        guard AppID(name) != nil else {
            throw Failure(.usage, "NAME is not a name: 1 to 64 letters, digits, '.', '_' and '-'")
        }
        let path = "/v1/webhooks/\(name)"
        guard let word = arguments.wordIfGiven("ACTION") else {
            show([try await client.ask("GET", at: path, for: WebhookAnswer.self)], by: arguments)
            return .done
        }
        guard let action = Action(rawValue: word) else {
            throw Failure(
                .usage, "ACTION must be test, pause, resume or seek, not '\(PlainText.line(word, limit: 60))'")
        }
        if action == .test {
            return show(try await client.ask("POST", at: "\(path)/test", for: WebhookTestAnswer.self), by: arguments)
        }
        let body = action == .seek ? JSONValue.object(["seq": .integer(try number(arguments))]).bytes : []
        show(
            [try await client.ask("POST", at: "\(path)/\(action)", body: body, for: WebhookAnswer.self)], by: arguments)
        return .done
    }

    private static func number(_ arguments: Arguments) throws(Failure) -> Int64 {
        guard let text = arguments.wordIfGiven("N"), let number = Int64(text), number >= 0 else {
            throw Failure(.usage, "seek needs N, the number of an event, such as 4711; 0 begins with the oldest")
        }
        return number
    }

    private static func show(_ webhooks: [WebhookAnswer], by arguments: Arguments) {
        if arguments.has("json") {
            for webhook in webhooks { ControlOptions.write(webhook) }
            return
        }
        guard !webhooks.isEmpty else {
            Terminal.output.write("There are no webhooks; 'webhooks' in the configuration adds one.\n")
            return
        }
        let heading = ["webhook", "state", "position", "lag", "last", "at", "failures", "receiver"]
        let rows = webhooks.map { webhook in
            [
                webhook.name, webhook.state.rawValue, "\(webhook.position)", "\(webhook.lag)",
                webhook.lastStatus.map { "\($0)" }
                    ?? webhook.lastFault.map { PlainText.line($0, limit: 60) } ?? "-",
                webhook.lastAt?.iso8601 ?? "-", "\(webhook.failures)", PlainText.line(webhook.host, limit: 80),
            ]
        }
        let usual = ["idle", "reading", "sending"]
        Terminal.output.write(
            Terminal.output.table(heading, rows: rows) { column, cell in
                column == 1 && !usual.contains(cell) ? .yellow : nil
            })
    }

    private static func show(_ answer: WebhookTestAnswer, by arguments: Arguments) -> ExitCode {
        let isTaken = (200...299).contains(answer.status ?? 0)
        if arguments.has("json") {
            ControlOptions.write(answer)
        } else if let status = answer.status {
            Terminal.output.write("\(answer.id): the receiver answered \(status).\n")
        } else {
            Terminal.output.write("\(answer.id): no response: \(PlainText.line(answer.fault ?? "", limit: 400))\n")
        }
        return isTaken ? .done : .failed
    }
}
