import PushModel
import PushText

extension EnvelopeReading {
    /// Returns the plain fields, whose types are the same for every push service.
    func content(by rules: PlainRules) throws(Rejection) -> PlainContent {
        var content = PlainContent(json: json)
        content.alert = position(.alert)
        if let alert = content.alert {
            try requireStringOrObject(.alert, at: alert)
            if json.kind(alert) == .object, !isLocalized(alert) { try checkMembers(ofAlert: alert, by: rules) }
        }
        if try integer(.badge) != nil, let badge = position(.badge) {
            // Its text goes to the push service as it is.
            guard json.integer(badge) != nil else {
                throw Rejection(.badField, detail: "badge has a decimal point or an exponent; write a whole number")
            }
            content.badge = badge
        }
        content.sound = position(.sound)
        if let sound = content.sound { try requireStringOrObject(.sound, at: sound) }
        content.custom = position(.custom)
        if let custom = content.custom, json.kind(custom) != .object {
            throw wrongType(of: .custom, at: custom, expected: "an object")
        }
        content.image = try text(.image)
        content.link = try text(.link)
        content.category = try text(.category)
        content.thread = try text(.thread)
        try content.check(against: rules)
        return content
    }

    private func requireStringOrObject(_ key: EnvelopeKey, at position: IndexedJSON.Position) throws(Rejection) {
        guard json.kind(position).isString || json.kind(position) == .object else {
            throw wrongType(of: key, at: position, expected: "a string or an object")
        }
    }

    /// Returns the position of a text that is neither empty nor has control characters; nil if the key is absent.
    private func text(_ key: EnvelopeKey) throws(Rejection) -> IndexedJSON.Position? {
        guard let position = position(key) else { return nil }
        try requireString(key, at: position)
        let (isEmpty, hasControls) = json.withUTF8(of: position) { text in
            (text.isEmpty, unsafe ControlCharacters.occur(in: text.bytes))
        }
        if isEmpty { throw Rejection(.badField, detail: "\(key.name) is empty") }
        if hasControls { throw Rejection(.badField, detail: "\(key.name) has a control character") }
        return position
    }

    // MARK: Alerts

    /// The members that every push service can show.
    private static let alertMembers = ["title", "subtitle", "body"]

    /// Checks the members of an alert. A member that nobody knows would otherwise reach the device, which ignores it, and
    /// the text of the notification would be missing.
    ///
    /// - Parameter pointer: The place of the alert, for errors.
    func checkMembers(
        ofAlert alert: IndexedJSON.Position, by rules: PlainRules, at pointer: String = "/alert"
    ) throws(Rejection) {
        var key = alert + 1
        for _ in 0..<json.size(alert) {
            let value = key + 1
            let isText = json.withUTF8(of: key) { $0.equals("title") || $0.equals("body") || $0.equals("subtitle") }
            if isText, !json.kind(value).isString {
                throw Rejection(
                    .badField,
                    detail: "\(pointer)/\(json.string(key) ?? ""): it is \(json.kind(value).name), not a string")
            }
            if !isText { try check(json.string(key) ?? "", ofAlertBy: rules, at: pointer) }
            key = json.next(value)
        }
    }

    private func check(_ member: String, ofAlertBy rules: PlainRules, at pointer: String) throws(Rejection) {
        guard !rules.alertMembers.contains(member) else { return }
        let near = NearestWord.to(member, in: Self.alertMembers + rules.alertMembers)
        throw Rejection(
            .badField,
            detail: "\(pointer)/\(JSONPointer.escaped(PlainText.name(member))): alert has no such member; "
                + (near.map { "did you mean \($0)?" }
                    ?? "it has title, subtitle and body; the app's own data belongs in custom"))
    }
}
