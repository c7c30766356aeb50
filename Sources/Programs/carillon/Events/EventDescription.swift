import PushAPI
import PushConfiguration
import PushLoop
import PushText

/// Describes events in sentences for people.
struct EventDescription {
    /// The subject of the whole output, which is not repeated in every sentence.
    enum Subject: Sendable {
        case none, message, device
    }

    private let subject: Subject

    init(_ subject: Subject = .none) {
        self.subject = subject
    }

    /// Returns one line for an event, without its time.
    func sentence(_ event: EventRecord) -> String {
        switch event.family {
        case "message": message(event)
        case "delivery": delivery(event)
        case "device": device(event)
        default: other(event)
        }
    }

    func color(_ event: EventRecord) -> Terminal.Color? {
        switch (event.family, event.kind) {
        case ("delivery", "sent"), ("delivery", "displayed"), ("delivery", "opened"), ("connection", "up"),
            ("device", "reactivated"):
            .green
        case (_, "rejected"), (_, "failed"), ("device", "brake"): .red
        case ("delivery", "retry"), ("delivery", "unknown"), (_, "expired"), (_, "cancelled"),
            ("device", "deactivated"),
            ("delivery", "suppressed"), ("connection", "down"), (_, "expiring"):
            .yellow
        default: nil
        }
    }

    // MARK: Messages

    private func message(_ event: EventRecord) -> String {
        let name = subject == .message ? "" : "message \(id(event)): "
        switch event.kind {
        case "accepted":
            let words = RequestDescription(event.request)
            return "\(name)accepted from \(words.client.map { "the client \($0)" } ?? "a producer") for "
                + words.audience(devices: event.number("devices")) + (words.options.map { ": \($0)" } ?? "")
        case "duplicate": return "\(name)duplicate: this message was accepted before and is not sent again"
        case "rejected":
            let detail = event.text("detail").map { " (\(PlainText.line($0)))" } ?? ""
            let client = event.text("client").map { " from the client \(PlainText.line($0, limit: 64))" } ?? ""
            return
                "\(name)rejected\(client): \(word(event.reason))\(ReasonDescription.rejection(event.reason))\(detail)"
        case "expired": return "\(name)expired before its devices were looked up"
        case "cancelled":
            let client = event.text("by").map { " by the client \(PlainText.line($0, limit: 64))" } ?? ""
            let sent = Self.count(event.number("sent") ?? 0, of: "delivery", plural: "deliveries")
            return "\(name)cancelled\(client): \(sent) had gone out, \(event.number("cancelled") ?? 0) not sent"
        case "completed":
            return "\(name)completed: \(Self.counts(event.numbers("counts") ?? []))"
        default: return name + rest(event)
        }
    }

    private func word(_ reason: String?) -> String { reason.map { "\(PlainText.line($0, limit: 60)): " } ?? "" }

    static func counts(_ counts: [(name: String, number: Int64)]) -> String {
        let some = counts.filter { $0.number != 0 }
        return some.isEmpty
            ? "there were no devices to send to"
            : some.map { "\($0.number) \(PlainText.line($0.name, limit: 40))" }.joined(separator: ", ")
    }

    // MARK: Deliveries

    private func delivery(_ event: EventRecord) -> String {
        let (status, reason) = (event.number("status"), event.reason)
        let name = subject == .message ? "" : "message \(id(event)): "
        let device = subject == .device ? nil : event.text("device").map { PlainText.line($0, limit: 40) }
        let (to, about) = (device.map { " to device \($0)" } ?? "", device.map { " for device \($0)" } ?? "")
        switch event.kind {
        case "sent": return "\(name)sent\(to): accepted by the push service\(attempt(event))"
        case "rejected" where status == nil:
            return "\(name)not sent\(to): " + ReasonDescription.answer(status: status, reason: reason)
        case "rejected":
            return "\(name)rejected by the push service\(about): "
                + ReasonDescription.answer(status: status, reason: reason) + attempt(event)
        case "retry":
            let after = event.number("retry_after_ms").map { ", retry in \(PlainText.milliseconds(Double($0)))" } ?? ""
            return "\(name)deferred by the push service\(about): "
                + ReasonDescription.answer(status: status, reason: reason) + after + attempt(event)
        case "unknown":
            let next =
                switch event.flag("resend") {
                case true?: "it is sent again"
                case false?: "it is not sent again (on_unknown: drop)"
                case nil: "it may have been accepted"
                }
            return "\(name)sent\(to), outcome unknown: \(ReasonDescription.unknown(reason)); \(next)\(attempt(event))"
        case "displayed": return "\(name)displayed\(device.map { " on device \($0)" } ?? "")"
        case "opened": return "\(name)opened\(device.map { " on device \($0)" } ?? "") by its user"
        case "expired": return "\(name)not sent\(to): \(ReasonDescription.expiry(reason))\(attempt(event))"
        case "superseded": return "\(name)not sent\(to): a newer message for the Live Activity takes its place"
        case "suppressed": return "\(name)not sent\(to): \(ReasonDescription.suppression(reason))"
        default: return name + rest(event)
        }
    }

    private func attempt(_ event: EventRecord) -> String {
        var parts: [String] = []
        if let attempt = event.number("attempt") { parts.append("attempt \(attempt)") }
        if let latency = event.number("latency_ms") {
            parts.append("\(PlainText.milliseconds(Double(latency))) after the message was accepted")
        }
        return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    }

    private func id(_ event: EventRecord) -> String {
        event.text("message_id").map { PlainText.line($0, limit: 128) } ?? "without an id"
    }

    // MARK: Devices and the rest

    private func device(_ event: EventRecord) -> String {
        let name = subject == .device ? "device" : "device \(device: event.text("device"))"
        switch event.kind {
        case "registered": return "\(name) registered"
        case "reactivated":
            return event.reason == "operator"
                ? "\(name) reactivated by an operator" : "\(name) reactivated: it was inactive and has registered again"
        case "deactivated":
            return "\(name) deactivated because \(ReasonDescription.deactivation(event.reason))"
        case "brake":
            return event.text("state") == "off"
                ? "deactivation of devices resumed: the responses of the push service are normal again\(particulars(event))"
                : "deactivation of devices paused: the push service rejects too many tokens at once; "
                    + "\(PushServices.misdirection)\(particulars(event))"
        default: return rest(event)
        }
    }

    private func other(_ event: EventRecord) -> String {
        let why = event.reason.map { ": \(PlainText.line($0, limit: 200))" } ?? ""
        let what: String =
            switch (event.family, event.kind) {
            case ("connection", "up"): "connection is up"
            case ("connection", "down"): "connection ended"
            case ("connection", "goaway"): "GOAWAY received, connection accepts no more requests"
            case ("connection", "scaled"): "gateway scaled"
            case ("credential", "expiring"): "credential expires soon"
            case ("credential", "rotated"): "credential replaced"
            case ("credential", "failed"): "credential unusable, sending halted until it is accepted or replaced"
            case ("ledger", "restored"): "restored from a backup, events after it are lost"
            case ("webhook", "disabled"):
                "a webhook is disabled until it is resumed, "
                    + (event.reason == "damaged" ? "its position cannot be read" : "its receiver wants no more")
            case ("webhook", "paused"): "webhook paused by an operator"
            case ("webhook", "resumed"): "webhook resumed by an operator"
            case ("webhook", "skipped"): "a webhook skipped events that are no longer stored"
            case ("operator", let action): change(event, action)
            case ("receipt", let kind): "App Store notification \(PlainText.line(kind, limit: 40))"
            default: "\(PlainText.line(event.family, limit: 40)) \(PlainText.line(event.kind, limit: 40))"
            }
        return what + why + particulars(event)
    }

    /// Returns who did what. The other members follow it.
    private func change(_ event: EventRecord, _ action: String) -> String {
        let action = PlainText.line(action.replacing("_", with: " "), limit: 40)
        return "\(PlainText.line(event.text("who") ?? "somebody", limit: 200)): \(action)"
    }

    private func rest(_ event: EventRecord) -> String {
        let why = event.reason.map { ": \(PlainText.line($0, limit: 200))" } ?? ""
        return
            "\(PlainText.line(event.family, limit: 40)) \(PlainText.line(event.kind, limit: 40))\(why)\(particulars(event))"
    }

    private func particulars(_ event: EventRecord) -> String {
        let text = event.particulars.map { name, value in
            PlainText.line("\(name.replacing("_", with: " ")) \(value)", limit: 300)
        }.joined(separator: ", ")
        return text.isEmpty ? "" : " (\(text))"
    }

    static func count(_ number: Int64, of word: String, plural: String) -> String {
        "\(number) \(number == 1 ? word : plural)"
    }

    static func count(_ number: Int64, of word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
}

extension DefaultStringInterpolation {
    /// Appends the id of a device, or a replacement if the event has none.
    fileprivate mutating func appendInterpolation(device id: String?) {
        guard let id else { return appendLiteral("without an id") }
        appendLiteral(PlainText.line(id, limit: 40))
    }
}
