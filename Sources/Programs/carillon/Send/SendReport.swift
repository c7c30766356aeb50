import APNs
import PushConfiguration
import PushGateways
import PushModel
import PushText
import PushWire

/// The result of one `carillon send`.
struct SendReport: Sendable {
    var verdict: Verdict
    var address: String?
    var took: Duration?
    var latency: Duration?
    var notes: [String] = []
    private let order: SendOrder
    private let app: Configuration.App

    init(_ order: SendOrder, app: Configuration.App, verdict: Verdict) {
        self.order = order
        self.app = app
        self.verdict = verdict
    }

    func text(on terminal: Terminal) -> String {
        let name = app.id == AppOptions.flagsName ? "" : "\(app.id): "
        let words = app.serviceDescription
        var rows = [("app", name + app.identity.map(\.value).joined(separator: ", "))]
        rows.append(("service", app.address + (address.map { $0 == app.address ? "" : ", at \($0)" } ?? "")))
        switch order.target {
        case .device(let token, let id):
            rows.append((words.address, token.size))
            if words.answers, let name = words.deliveryID { rows.append((name, "\(id)")) }
        case .channel(let channel):
            rows.append(("channel", PlainText.line(channel.text, limit: 80)))
        }
        if let providerID = verdict.providerID { rows.append((words.providerID, providerID)) }
        if let took {
            let answer = latency.map { $0 > .zero ? ", response after \(PlainText.milliseconds($0))" : "" } ?? ""
            rows.append(("took", PlainText.milliseconds(took) + answer))
        }
        for note in notes { rows.append(("note", PlainText.line(note))) }
        return verdict.headline(on: terminal) + "\n"
            + PlainText.rows(rows.map { (name: $0.0, text: $0.1) }, on: terminal)
            + (verdict.advice.map { "\nNext: \(PlainText.line($0, limit: 1000)).\n" } ?? "")
    }

    var json: String {
        let words = app.serviceDescription
        var members = verdict.members(of: words)
        members["app"] = .string(app.id.name)
        for (name, value) in app.identity { members[name] = .string(value) }
        members["service"] = .string(app.address)
        members["address"] = .text(address)
        members["message_id"] = .string(order.message.id.text)
        members["took_ms"] = .milliseconds(took)
        members["answer_ms"] = .milliseconds(latency)
        switch order.target {
        case .device(let token, let id):
            members["token"] = .string(token.size)
            members[(words.deliveryID ?? "delivery-id").replacing("-", with: "_")] = .string("\(id)")
        case .channel(let channel):
            members["channel"] = .string(channel.text)
        }
        if !notes.isEmpty { members["notes"] = .texts(notes) }
        members["findings"] = order.findingsValue
        return MachineLine.text(members)
    }
}

extension SendOrder {
    var findingsValue: JSONValue {
        .array(
            findings.map { finding in
                .object(
                    [
                        "severity": .string(finding.severity.rawValue), "code": .string(finding.code.rawValue),
                        "path": .string(finding.path), "problem": .string(finding.problem),
                        "advice": .string(finding.advice), "offset": finding.offset.map { .integer(Int64($0)) },
                    ].compactMapValues { $0 })
            })
    }
}

/// The output of `--dry-run`: the request that would be sent, without its secrets.
struct SendPreview {
    private let order: SendOrder
    private let request: RequestPreview

    init(_ order: SendOrder, request: RequestPreview) {
        self.order = order
        self.request = request
    }

    private var payload: [UInt8] { request.payload ?? order.message.payload }

    func text(on terminal: Terminal) -> String {
        let text = PlainText.line(String(decoding: payload, as: UTF8.self), limit: 8192)
        return "Nothing was sent. The request would be:\n\n\(terminal.colored(request.line, in: .bold))\n"
            + PlainText.rows(request.fields.map { ($0.name, PlainText.line($0.text)) }, on: terminal)
            + "\npayload, \(payload.count) bytes:\n  \(text)\n"
    }

    var json: String {
        MachineLine.text([
            "outcome": "dry_run", "request": .string(request.line),
            "headers": .object(
                Dictionary(request.fields.map { ($0.name, .string($0.text)) }, uniquingKeysWith: { $1 })),
            "payload": .string(String(decoding: payload, as: UTF8.self)),
            "findings": order.findingsValue,
        ])
    }
}
