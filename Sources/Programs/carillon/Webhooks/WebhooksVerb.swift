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
            Word(
                "N", about: "for seek: the events after this number are delivered next; in a cluster PART:N",
                isOptional: true),
        ],
        options: ControlOptions.options + [ControlOptions.json],
        examples: [
            ("carillon webhooks", "all webhooks with their positions"),
            ("carillon webhooks billing test", "send one event webhook.test, and show the response"),
            ("carillon webhooks billing resume", "continue after a pause, or after the receiver answered 410"),
            ("carillon webhooks billing seek 4711", "deliver the events after number 4711, again or not at all"),
            ("carillon webhooks billing seek 3:4711", "the same in a cluster, for the events of part 3"),
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
            show(try await client.ask("GET", at: path, for: WebhookAnswer.self), by: arguments)
            return .done
        }
        guard let action = Action(rawValue: word) else {
            throw Failure(
                .usage, "ACTION must be test, pause, resume or seek, not '\(PlainText.line(word, limit: 60))'")
        }
        if action == .test {
            return show(try await client.ask("POST", at: "\(path)/test", for: WebhookTestAnswer.self), by: arguments)
        }
        let body = action == .seek ? JSONValue.object(try place(arguments)).bytes : []
        show(try await client.ask("POST", at: "\(path)/\(action)", body: body, for: WebhookAnswer.self), by: arguments)
        return .done
    }

    /// Reads a number, or in a cluster a part and a number.
    private static func place(_ arguments: Arguments) throws(Failure) -> [String: JSONValue] {
        let words = (arguments.wordIfGiven("N") ?? "").split(separator: ":", omittingEmptySubsequences: false)
        let numbers = words.compactMap { Int64($0) }.filter { $0 >= 0 }
        guard numbers.count == words.count, let number = numbers.last, numbers.count <= 2 else {
            throw Failure(
                .usage,
                "seek needs N, the number of an event, such as 4711; 0 begins with the oldest; in a cluster, PART:N")
        }
        return numbers.count == 2
            ? ["part": .integer(numbers[0]), "seq": .integer(number)] : ["seq": .integer(number)]
    }

    /// Shows one webhook; in a cluster with its parts.
    private static func show(_ webhook: WebhookAnswer, by arguments: Arguments) {
        show([webhook], by: arguments)
        guard let parts = webhook.parts, !arguments.has("json") else { return }
        let rows = parts.map { part in
            [
                "\(part.part)", part.node ?? "-", part.state.rawValue, "\(part.position)", "\(part.lag)",
                last(part.lastStatus, or: part.lastFault), part.lastAt?.iso8601 ?? "-", "\(part.failures)",
            ]
        }
        Terminal.output.write("\n")
        write(["part", "node", "state", "position", "lag", "last", "at", "failures"], rows: rows, states: 2)
    }

    private static func last(_ status: Int?, or fault: String?) -> String {
        status.map { "\($0)" } ?? fault.map { PlainText.line($0, limit: 60) } ?? "-"
    }

    private static func write(_ heading: [String], rows: [[String]], states: Int) {
        let usual = ["idle", "reading", "sending"]
        Terminal.output.write(
            Terminal.output.table(heading, rows: rows) { column, cell in
                column == states && !usual.contains(cell) ? .yellow : nil
            })
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
                webhook.name, webhook.state.rawValue,
                webhook.position.map { "\($0)" } ?? "\(webhook.parts?.count ?? 0) parts", "\(webhook.lag)",
                last(webhook.lastStatus, or: webhook.lastFault), webhook.lastAt?.iso8601 ?? "-", "\(webhook.failures)",
                PlainText.line(webhook.host, limit: 80),
            ]
        }
        write(heading, rows: rows, states: 1)
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
