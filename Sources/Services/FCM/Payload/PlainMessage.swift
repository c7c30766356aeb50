import PushModel
import PushWire

/// The payload that is built from the plain fields of an envelope: the block of Android, then `data`, then
/// `notification`, each only if it has a member.
enum PlainMessage {
    static func bytes(from content: PlainContent, for options: MessageOptions) throws(Rejection) -> [UInt8] {
        let hasNotification = content.alert != nil
        if options.type == .background {
            for (name, position) in [
                ("alert", content.alert), ("badge", content.badge), ("sound", content.sound), ("image", content.image),
            ] where position != nil {
                throw Rejection(.badPayload, detail: "fcm: a background message shows nothing; leave out \(name)")
            }
        }
        var text = CanonicalJSON(content, limit: FCMPayload.messageLimit)
        text.append(#"{"android":{"#)
        if options.expiry != .unlimited { text.append(#""ttl":"","#) }
        if hasNotification { try appendAndroidNotification(content, options: options, to: &text) }
        if let collapseID = options.collapseID {
            text.append(#""collapse_key":"#)
            text.append(string: collapseID.text)
            text.append(",")
        }
        text.append(options.priority == .ten ? #""priority":"high"}"# : #""priority":"normal"}"#)
        if content.custom != nil || content.link != nil { try appendData(content, to: &text) }
        if let alert = content.alert { try append(alert: alert, of: content, to: &text) }
        text.append("}")
        guard !text.isTooLarge, content.hasValues || text.bytes.count <= FCMPayload.messageLimit else {
            throw Rejection(.payloadTooLarge, detail: "fcm: over \(FCMPayload.messageLimit) bytes")
        }
        if !hasNotification, content.badge != nil || content.sound != nil || content.image != nil {
            throw Rejection(.badPayload, detail: "fcm: badge, sound and image need an alert")
        }
        return text.bytes
    }

    /// Appends what only Android has of a notification. The tag comes first; see ``MessageSlots``.
    private static func appendAndroidNotification(
        _ content: PlainContent, options: MessageOptions, to text: inout CanonicalJSON
    ) throws(Rejection) {
        text.append(#""notification":{"tag":"#)
        text.append(string: options.collapseID?.text ?? "")
        if let badge = content.badge {
            guard let number = content.json.integer(badge), (0...Int64(Int32.max)).contains(number) else {
                throw Rejection(.badPayload, detail: "fcm: badge is not a number from 0 to \(Int32.max)")
            }
            text.append(#","notification_count":"#)
            try text.append(badge, of: "badge")
        }
        if let sound = content.sound {
            guard content.json.kind(sound).isString else {
                throw Rejection(.badPayload, detail: "fcm: sound is an object; Android has names of sounds only")
            }
            text.append(#","sound":"#)
            try text.append(sound, of: "sound")
        }
        if let alert = content.alert, content.json.kind(alert) == .object {
            for member in try text.members(of: alert, in: "alert") {
                guard let name = localized[member.key] else { continue }
                text.append(",")
                text.append(key: name)
                try text.append(member.value, of: "alert")
            }
        }
        text.append("},")
    }

    /// The members of an alert that name texts of the app, by their names at Android.
    private static let localized = [
        "loc-key": "body_loc_key", "loc-args": "body_loc_args", "title-loc-key": "title_loc_key",
        "title-loc-args": "title_loc_args",
    ]

    static let alertMembers = localized.keys.sorted()

    /// Appends `notification`, which all platforms show.
    private static func append(
        alert: IndexedJSON.Position, of content: PlainContent, to text: inout CanonicalJSON
    ) throws(Rejection) {
        text.append(#","notification":{"#)
        guard content.json.kind(alert) == .object else {
            text.append(#""body":"#)
            try text.append(alert, of: "alert")
            return try appendImage(content, after: true, to: &text)
        }
        var needsComma = false
        for member in try text.members(of: alert, in: "alert") where localized[member.key] == nil {
            guard member.key == "title" || member.key == "body" else {
                throw Rejection(
                    .badPayload, detail: "fcm: there is no alert.\(member.key); give title and body, or payload")
            }
            if needsComma { text.append(",") }
            needsComma = true
            text.append(key: member.key)
            try text.append(member.value, of: "alert")
        }
        try appendImage(content, after: needsComma, to: &text)
    }

    /// Appends the image, and the end of `notification`.
    private static func appendImage(
        _ content: PlainContent, after needsComma: Bool, to text: inout CanonicalJSON
    ) throws(Rejection) {
        if let image = content.image {
            text.append(needsComma ? #","image":"# : #""image":"#)
            try text.append(image, of: "image")
        }
        text.append("}")
    }

    /// Appends the app's own data, and the link, which the app opens.
    private static func appendData(_ content: PlainContent, to text: inout CanonicalJSON) throws(Rejection) {
        text.append(#","data":{"#)
        var needsComma = false
        if let custom = content.custom {
            for member in try text.members(of: custom, in: "custom") {
                try check(member.key, member.value, of: content)
                if needsComma { text.append(",") }
                needsComma = true
                text.append(key: member.key)
                try text.append(member.value, of: "custom")
            }
        }
        if let link = content.link {
            text.append(needsComma ? #","link":"# : #""link":"#)
            try text.append(link, of: "link")
        }
        text.append("}")
    }

    private static func check(
        _ key: String, _ value: IndexedJSON.Position, of content: PlainContent
    ) throws(Rejection) {
        let pointer = "/custom/\(JSONPointer.escaped(key))"
        guard !FCMPayload.isReserved(key) else {
            throw FCMPayload.rejection(pointer, "has a name that FCM reserves; give another")
        }
        guard key != "link" || content.link == nil else {
            throw FCMPayload.rejection(pointer, "is the key of the link, which is given, too")
        }
        guard content.json.kind(value).isString else {
            throw FCMPayload.rejection(pointer, "is not a string; FCM has no other values in data")
        }
    }
}
