import PushModel
import PushText
import PushWire

/// The result of one `carillon send --via`.
struct SendViaReport {
    let code: ExitCode
    /// Hints for people.
    var notes: [String] = []
    private let outcome: String
    private let meaning: String
    private let advice: String?
    private let end: SendViaProducer.End
    private let id: MessageID
    private let app: AppID
    private let endpoint: String
    private let took: Duration

    init(_ end: SendViaProducer.End, id: MessageID, app: AppID, endpoint: String, took: Duration) {
        self.end = end
        self.id = id
        self.app = app
        self.endpoint = endpoint
        self.took = took
        func text(_ name: String) -> String { if case .string(let text)? = end.status?[name] { text } else { "" } }
        switch text("status") {
        case "accepted":
            (code, outcome, advice) = (.done, "accepted", nil)
            meaning = "Carillon has stored the message and will send it"
        case "duplicate":
            (code, outcome, advice) = (.done, "duplicate", nil)
            meaning = "Carillon accepted this message before; it is not sent again"
        case "rejected":
            (code, outcome) = (.badInput, "rejected")
            meaning = PlainText.line("\(text("reason")): \(text("detail"))")
            advice = "correct the message; Carillon rejects it again if it is unchanged"
        case "busy":
            (code, outcome) = (.tryAgain, "busy")
            meaning = "Carillon was busy until the timeout and did not accept the message"
            advice = "send it again later with --id \(PlainText.line(id.text)): the same id prevents duplicates"
        default:
            let again = "send it again with --id \(PlainText.line(id.text)): the same id prevents duplicates"
            switch end.obstacle {
            case .keyRefused:
                (code, outcome, advice) = (
                    .notPermitted, "refused", "add the public key of --key-file to security.clients"
                )
                meaning = "authentication failed: the server does not know this client's key"
            case .noCommonProtocol:
                (code, outcome) = (.notPermitted, "refused")
                meaning = "handshake failed: one side uses CURVE keys and the other does not"
                advice =
                    "give --server-key and --key-file if the server has security.curve, and leave them out otherwise"
            case .handshakeBroken:
                (code, outcome) = (.tryAgain, "no_answer")
                meaning = "handshake failed: the connection was closed"
                advice = "compare --server-key with the server's public key; then " + again
            case .nobodyThere:
                (code, outcome) = (.tryAgain, "no_answer")
                meaning = "cannot connect"
                advice = "check that Carillon is running and that its intake.router is this endpoint; then " + again
            case nil:
                (code, outcome, advice) = (.tryAgain, "no_answer", again)
                meaning = "timed out waiting for the ack; the message may have been accepted"
            }
        }
    }

    func text(on terminal: Terminal) -> String {
        let color: Terminal.Color = code == .done ? .green : code == .tryAgain ? .yellow : .red
        var rows = [("id", PlainText.line(id.text)), ("app", app.name), ("via", endpoint)]
        if case .integer(let seq)? = end.status?["seq"] { rows.append(("seq", "\(seq)")) }
        for (app, status) in apps { rows.append((PlainText.line(app, limit: 64), status)) }
        if end.attempts > 1 { rows.append(("sent", "\(end.attempts) times")) }
        rows.append(("took", PlainText.milliseconds(took)))
        for finding in findings { rows.append(("will be ignored", PlainText.line(finding))) }
        for note in notes { rows.append(("note", PlainText.line(note))) }
        let word = outcome.replacing("_", with: " ")
        return terminal.colored(word, in: color) + ": " + meaning + "\n"
            + PlainText.rows(rows.map { (name: $0.0, text: $0.1) }, on: terminal)
            + (advice.map { "\nNext: \($0).\n" } ?? "")
    }

    /// The statuses of the members of a family; none for a single app.
    private var apps: [(String, String)] {
        guard case .object(let apps)? = end.status?["apps"] else { return [] }
        return apps.sorted { $0.key < $1.key }.compactMap { app, status in
            if case .string(let word) = status { (app, PlainText.line(word, limit: 40)) } else { nil }
        }
    }

    var isAccepted: Bool { outcome == "accepted" }

    /// The findings in the ack, as text.
    private var findings: [String] {
        guard case .array(let findings)? = end.status?["findings"] else { return [] }
        return findings.compactMap { finding in
            guard case .object(let members) = finding, case .string(let detail)? = members["detail"] else { return nil }
            guard case .string(let path)? = members["path"], !path.isEmpty else { return detail }
            return "\(path): \(detail)"
        }
    }

    var json: String {
        MachineLine.text([
            "outcome": .string(outcome), "exit_code": .integer(Int64(code.rawValue)), "meaning": .string(meaning),
            "advice": .text(advice), "message_id": .string(id.text), "app": .string(app.name), "via": .string(endpoint),
            "seq": end.status?["seq"], "reason": end.status?["reason"], "detail": end.status?["detail"],
            "apps": end.status?["apps"],
            "findings": end.status?["findings"], "notes": notes.isEmpty ? nil : .texts(notes),
            "retry_after_ms": end.status?["retry_after_ms"], "attempts": .integer(Int64(end.attempts)),
            "took_ms": .milliseconds(took),
        ])
    }
}
