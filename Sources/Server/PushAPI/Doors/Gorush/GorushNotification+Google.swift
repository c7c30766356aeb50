import PushText
import PushWire

/// What a notification of platform 2 is as a message to FCM.
extension GorushNotification {
    /// Writes the members of the envelope beside its id, app and audience.
    mutating func writeGoogle(to writer: inout JSONWriter) throws(GorushFault) {
        let shown = try shownPart()
        let android = try androidPart()
        writer.member("push_type", value: shown == nil && !android.isShown ? "background" : "alert")
        writer.member("priority", value: try priority())
        writer.key(plain: "payload")
        writer.beginObject()
        writer.member("notification", value: shown)
        writer.member("android", value: android.value)
        writer.member("apns", value: try applePart())
        if let data = self[.data], !isEmptyObject(data) {
            writer.key(plain: "data")
            writeData(data, to: &writer)
        }
        for key in [GorushKey.webpush, .fcmOptions] {
            guard let value = compact(key) else { continue }
            writer.key(key.rawValue)
            writer.raw(value)
        }
        writer.endObject()
    }

    private func isEmptyObject(_ value: JSONDocument.Position) -> Bool {
        !document.members(value).contains { _ in true }
    }

    private func object(_ key: GorushKey) -> [String: JSONValue] {
        guard let value = self[key], case .object(let members) = document.value(at: value) else { return [:] }
        return members.filter { $0.value != .null }
    }

    /// Returns `notification`: what the user sees on any device; nil without it.
    private mutating func shownPart() throws(GorushFault) -> JSONValue? {
        var shown: [String: JSONValue] = [:]
        for (name, value) in object(.notification).sorted(by: { $0.key < $1.key }) {
            guard ["title", "body", "image"].contains(name) else {
                // Only gorush's README has the others.
                ignore("notification.\(PlainText.line(name, limit: 40))")
                continue
            }
            guard case .string(let text) = value else { throw fault("notification.\(name)", "must be a string") }
            if !text.isEmpty { shown[name] = value }
        }
        for (key, name) in [(GorushKey.title, "title"), (.message, "body"), (.image, "image")] {
            if let text = text(key) { shown[name] = .string(text) }
        }
        return shown.isEmpty ? nil : .object(shown)
    }

    private func androidPart() throws(GorushFault) -> (value: JSONValue?, isShown: Bool) {
        _ = try priority()
        var android = object(.android)
        if self[.android] == nil, let sound = soundName { android["notification"] = ["sound": .string(sound)] }
        if let priority = text(.priority), (android["priority"] ?? "") == "" { android["priority"] = .string(priority) }
        return (android.isEmpty ? nil : .object(android), android["notification"] != nil)
    }

    /// The sound; nil unless it is a name, which is all that gorush hands to FCM.
    private var soundName: String? {
        guard let sound = self[.sound], document.kind(sound).isString else { return nil }
        return text(.sound)
    }

    /// Returns `apns`: what FCM hands to Apple for devices of that kind. Gorush replaces what the request has in it by what
    /// follows from other keys; here both are joined.
    private func applePart() throws(GorushFault) -> JSONValue? {
        var apns = object(.apns)
        var payload = try Self.object(apns["payload"], else: fault("apns.payload", "must be an object"))
        var aps = try Self.object(payload["aps"], else: fault("apns.payload.aps", "must be an object"))
        var headers = try Self.object(apns["headers"], else: fault("apns.headers", "must be an object"))
        if flag(.mutableContent), [.title, .message, .image].contains(where: { text($0) != nil }) {
            aps["mutable-content"] = 1
        }
        if flag(.contentAvailable) {
            headers["apns-priority"] = "5"
            for (name, value) in object(.data) where aps[name] == nil { aps[name] = value }
            aps["content-available"] = 1
        }
        if let soundName { aps["sound"] = .string(soundName) }
        if !aps.isEmpty { payload["aps"] = .object(aps) }
        if !payload.isEmpty { apns["payload"] = .object(payload) }
        if !headers.isEmpty { apns["headers"] = .object(headers) }
        return apns.isEmpty ? nil : .object(apns)
    }

    private static func object(
        _ value: JSONValue?, else fault: GorushFault
    ) throws(GorushFault) -> [String: JSONValue] {
        guard let value else { return [:] }
        guard case .object(let members) = value else { throw fault }
        return members
    }

    /// Writes data, whose values FCM takes as strings only: others are written as JSON into a string.
    private func writeData(_ data: JSONDocument.Position, to writer: inout JSONWriter) {
        writer.beginObject()
        for member in document.members(data) {
            writer.key(document.string(member.key) ?? "")
            if document.kind(member.value).isString {
                writer.raw(document.compact(member.value))
            } else {
                writer.string(String(decoding: document.compact(member.value), as: UTF8.self))
            }
        }
        writer.endObject()
    }
}
