import APNs
import PushConfiguration
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
        var rows = [("app", "\(name)\(app.apns.topic), \(app.apns.environment.rawValue)")]
        rows.append(("service", app.address + (address.map { $0 == app.address ? "" : ", at \($0)" } ?? "")))
        switch order.target {
        case .device(let token, let id):
            rows.append(("token", token.size))
            if app.apns.wireProtocol == .http2 { rows.append(("apns-id", "\(id)")) }
        case .channel(let channel):
            rows.append(("channel", PlainText.line(channel.text, limit: 80)))
        }
        if let providerID = verdict.providerID { rows.append(("apns-unique-id", providerID)) }
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
        var members = verdict.members
        members["app"] = .string(app.id.name)
        members["topic"] = .string(app.apns.topic.text)
        members["environment"] = .string(app.apns.environment.rawValue)
        members["service"] = .string(app.address)
        members["address"] = .text(address)
        members["message_id"] = .string(order.message.id.text)
        members["took_ms"] = .milliseconds(took)
        members["answer_ms"] = .milliseconds(latency)
        switch order.target {
        case .device(let token, let id):
            members["token"] = .string(token.size)
            members["apns_id"] = .string("\(id)")
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
    private let gateway: AppGateway

    init(_ order: SendOrder, gateway: AppGateway) {
        self.order = order
        self.gateway = gateway
    }

    private var app: Configuration.App { gateway.app }
    private var isBinary: Bool { app.apns.wireProtocol == .binary }

    private var request: String {
        switch order.target {
        case .device(let token, _):
            isBinary
                ? "a binary frame to tls://\(app.address), token: \(token.size)"
                : "POST https://\(app.address)/3/device/TOKEN"
        case .channel:
            "POST https://\(app.apns.broadcast.send)/4/broadcasts/apps/\(app.apns.topic)"
        }
    }

    private var headers: [(name: String, text: String)] {
        let message = order.message
        var headers: [(name: String, text: String)] = []
        switch gateway.credential {
        case .providerKey(let key): headers.append(("authorization", "bearer <redacted: signed with \(key)>"))
        case .certificate(let certificate): headers.append(("(certificate)", certificate.certificate.info.subject))
        }
        if case .device(_, let id) = order.target {
            if !isBinary {
                headers.append(("apns-topic", PushType(message.type).topic(of: app.apns.topic.text)))
                headers.append(("apns-push-type", PushType(message.type).rawValue))
            }
            headers.append((isBinary ? "priority" : "apns-priority", "\(message.priority.rawValue)"))
            if !isBinary { headers.append(("apns-id", "\(id)")) }
        }
        if case .channel(let channel) = order.target {
            headers.append(("apns-channel-id", channel.text))
            headers.append(("apns-push-type", PushType(message.type).rawValue))
            headers.append(("apns-priority", "\(message.priority.rawValue)"))
        }
        if let time = message.expiry.expiresAt {
            headers.append((isBinary ? "expiration" : "apns-expiration", "\(time)"))
        }
        if let id = message.collapseID, !isBinary { headers.append(("apns-collapse-id", id.text)) }
        return headers
    }

    func text(on terminal: Terminal) -> String {
        let payload = PlainText.line(String(decoding: order.message.payload, as: UTF8.self), limit: 8192)
        return "Nothing was sent. The request would be:\n\n\(terminal.colored(request, in: .bold))\n"
            + PlainText.rows(headers.map { ($0.name, PlainText.line($0.text)) }, on: terminal)
            + "\npayload, \(order.message.payload.count) bytes:\n  \(payload)\n"
    }

    var json: String {
        MachineLine.text([
            "outcome": "dry_run", "request": .string(request),
            "headers": .object(Dictionary(headers.map { ($0.name, .string($0.text)) }, uniquingKeysWith: { $1 })),
            "payload": .string(String(decoding: order.message.payload, as: UTF8.self)),
            "findings": order.findingsValue,
        ])
    }
}
