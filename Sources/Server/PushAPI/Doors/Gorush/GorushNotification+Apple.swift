import PushModel
import PushWire

/// What a notification of platform 1 is as a message to Apple.
extension GorushNotification {
    /// The ends of topics that name a type.
    private static let suffixes: [(suffix: String, type: String)] = [
        (".voip", "voip"), (".complication", "complication"), (".pushkit.fileprovider", "fileprovider"),
        (".location-query", "location"), (".push-type.liveactivity", "liveactivity"), (".voip-ptt", "pushtotalk"),
        (".push-type.widgets", "widgets"), (".push-type.controls", "controls"),
    ]

    /// Writes the members of the envelope beside its id, app and audience.
    func writeApple(for app: AppCatalog.App?, to writer: inout JSONWriter) throws(GorushFault) {
        try checkEnvironment(of: app)
        let type = try appleType(topic: app?.topic)
        writer.member("push_type", value: type)
        // Apple refuses background notifications of another priority.
        writer.member("priority", value: type == "background" ? 5 : try priority())
        if let expiration = whole(.expiration) { writer.member("expires_at", value: max(0, expiration)) }
        writer.member("collapse_id", value: text(.collapseID))
        writer.key(plain: "payload")
        writer.raw(try applePayload())
    }

    private func checkEnvironment(of app: AppCatalog.App?) throws(GorushFault) {
        guard let app, let environment = app.environment else { return }
        let key: GorushKey? = flag(.production) ? .production : flag(.development) ? .development : nil
        guard let key, (key == .production) != (environment == "production") else { return }
        throw fault(key, "does not fit the app \"\(app.id)\", whose environment is \(environment)")
    }

    /// Returns the push type: the one that is given, or that follows from the topic, or from the content.
    private func appleType(topic base: String?) throws(GorushFault) -> String {
        var ofTopic: String?
        if let topic = text(.topic), let base, topic != base {
            ofTopic = Self.suffixes.first { topic == base + $0.suffix }?.type
            guard ofTopic != nil else { throw fault(.topic, "is not the topic of the app, \(base)") }
        }
        if let given = text(.pushType) {
            guard ofTopic == nil || ofTopic == given else {
                throw fault(.topic, "is that of push_type \(ofTopic ?? ""), and push_type is another")
            }
            return given
        }
        if let ofTopic { return ofTopic }
        if text(.event) != nil { return "liveactivity" }
        let isShown = [.message, .title, .soundName].contains { text($0) != nil } || hasAlert || self[.badge] != nil
        return flag(.contentAvailable) && !isShown && self[.sound] == nil ? "background" : "alert"
    }

    private var hasAlert: Bool { compact(.alert) != nil }

    /// Returns the priority that the word of the notification means; nil without one.
    func priority() throws(GorushFault) -> Int64? {
        switch text(.priority) {
        case nil: return nil
        case "high": return 10
        case "normal": return 5
        default: throw fault(.priority, "must be \"high\" or \"normal\"")
        }
    }

    // MARK: Payload

    private func applePayload() throws(GorushFault) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key(plain: "aps")
        writer.beginObject()
        try writeAlert(to: &writer)
        if let badge = whole(.badge), badge >= 0 { writer.member("badge", value: badge) }
        try writeSound(to: &writer)
        writer.member("category", value: text(.category))
        writer.member("thread-id", value: text(.threadID))
        writer.member("interruption-level", value: text(.interruptionLevel))
        if flag(.contentAvailable) { writer.member("content-available", value: Int64(1)) }
        if flag(.mutableContent) { writer.member("mutable-content", value: Int64(1)) }
        writeActivity(to: &writer)
        writer.endObject()
        if let data = self[.data] {
            for member in document.members(data) {
                let name = document.string(member.key) ?? ""
                guard name != "aps" else { throw fault("data.aps", "is refused: aps is made of the other keys") }
                writer.key(name)
                writer.raw(document.compact(member.value))
            }
        }
        writer.endObject()
        return writer.bytes
    }

    private static let alertTexts = [
        "title", "body", "subtitle", "action", "action-loc-key", "launch-image", "loc-key", "title-loc-key",
        "summary-arg",
    ]

    /// Writes `alert`: a text if there is only a message, and an object otherwise.
    private func writeAlert(to writer: inout JSONWriter) throws(GorushFault) {
        var members: [(name: String, value: [UInt8])] = []
        for member in self[.alert].map({ Array(document.members($0)) }) ?? [] {
            let name = document.string(member.key) ?? ""
            if let value = try alertValue(member.value, called: name) { members.append((name, value)) }
        }
        if members.isEmpty, text(.title) == nil {
            writer.member("alert", value: text(.message))
            return
        }
        writer.key(plain: "alert")
        writer.beginObject()
        if !members.contains(where: { $0.name == "title" }) { writer.member("title", value: text(.title)) }
        // gorush loses the message here unless there is a title.
        if !members.contains(where: { $0.name == "body" }) { writer.member("body", value: text(.message)) }
        for (name, value) in members {
            writer.key(name)
            writer.raw(value)
        }
        writer.endObject()
    }

    /// Returns the JSON of a member of `alert`; nil for an empty one.
    private func alertValue(_ value: JSONDocument.Position, called name: String) throws(GorushFault) -> [UInt8]? {
        let kind = document.kind(value)
        if kind == .null { return nil }
        let bytes = document.compact(value)
        switch name {
        case _ where Self.alertTexts.contains(name):
            guard kind.isString else { throw fault("alert.\(name)", "must be a string") }
            return bytes.count > 2 ? bytes : nil
        case "loc-args", "title-loc-args":
            guard kind == .array, document.elements(value).allSatisfy({ document.kind($0).isString }) else {
                throw fault("alert.\(name)", "must be a list of strings")
            }
            return bytes.count > 2 ? bytes : nil
        case "summary-arg-count":
            guard let count = document.integer(value) else { throw fault("alert.\(name)", "must be a whole number") }
            return count > 0 ? bytes : nil
        default: throw fault("alert", "has a key that gorush does not have")
        }
    }

    private func writeSound(to writer: inout JSONWriter) throws(GorushFault) {
        let (name, volume) = (text(.soundName), self[.soundVolume].flatMap { document.double($0) } ?? 0)
        if name != nil || volume > 0 {
            // Both make a critical sound of full volume, and change it.
            writer.key(plain: "sound")
            writer.object { writer in
                writer.member("critical", value: Int64(1))
                writer.member("name", value: name)
                writer.member("volume", value: volume > 0 ? volume : 1)
            }
            return
        }
        guard let sound = self[.sound] else { return }
        switch document.kind(sound) {
        case .string, .escapedString: writer.member("sound", value: text(.sound))
        case .object:
            for member in document.members(sound) {
                guard ["critical", "name", "volume"].contains(document.string(member.key)) else {
                    throw fault("sound", "has a key besides critical, name and volume")
                }
            }
            writer.key(plain: "sound")
            writer.raw(document.compact(sound))
        default: throw fault(.sound, "must be a string or an object")
        }
    }

    /// Writes what Live Activities and Safari have.
    private func writeActivity(to writer: inout JSONWriter) {
        for key in [GorushKey.urlArgs, .contentState, .attributes] {
            guard let value = compact(key) else { continue }
            writer.key(key.rawValue)
            writer.raw(value)
        }
        for key in [GorushKey.event, .attributesType] {
            guard let value = text(key) else { continue }
            writer.key(key.rawValue)
            writer.string(value)
        }
        for key in [GorushKey.timestamp, .staleDate, .dismissalDate] {
            guard let value = whole(key), value > 0 else { continue }
            writer.key(key.rawValue)
            writer.integer(value)
        }
        guard let score = self[.relevanceScore] else { return }
        writer.key(GorushKey.relevanceScore.rawValue)
        writer.raw(document.compact(score))
    }
}
