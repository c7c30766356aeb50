import PushModel
import PushWire

/// A payload built from the plain fields of an envelope: `aps` first, then `image` and `link`, then the custom members.
enum PlainPayload {
    /// APNs shows all plain fields, and takes the texts of an alert also from the app.
    static let rules = PlainRules(
        "APNs", shows: PlainField.allCases,
        alertMembers: [
            "launch-image", "title-loc-key", "title-loc-args", "subtitle-loc-key", "subtitle-loc-args", "loc-key",
            "loc-args",
        ])

    static func bytes(from content: PlainContent, limit: Int, of type: MessageType) throws(Rejection) -> [UInt8] {
        var text = CanonicalJSON(content, limit: limit)
        text.append(#"{"aps":{"#)
        var isFirst = true
        let members: [(StaticString, IndexedJSON.Position?)] = [
            ("alert", content.alert), ("badge", content.badge), ("sound", content.sound),
            ("thread-id", content.thread), ("category", content.category),
        ]
        for case (let name, let position?) in members {
            if !isFirst { text.append(",") }
            isFirst = false
            text.append(key: "\(name)")
            try text.append(position, of: name)
        }
        if content.image != nil {
            // The app's service extension loads the image, and runs only for notifications that it may change.
            text.append(isFirst ? #""mutable-content":1"# : #","mutable-content":1"#)
        }
        text.append("}")
        if let image = content.image { try append(image, named: "image", to: &text) }
        if let link = content.link { try append(link, named: "link", to: &text) }
        if let custom = content.custom { try append(custom, beside: content, to: &text) }
        if text.isTooLarge {
            throw Rejection(.payloadTooLarge, detail: "over \(limit) bytes; \(type.word) allows \(limit)")
        }
        text.append("}")
        return text.bytes
    }

    /// Appends a plain field beside `aps`.
    private static func append(
        _ position: IndexedJSON.Position, named name: StaticString, to text: inout CanonicalJSON
    ) throws(Rejection) {
        text.append(",")
        text.append(key: "\(name)")
        try text.append(position, of: name)
    }

    /// Appends the app's own members beside `aps`.
    private static func append(
        _ custom: IndexedJSON.Position, beside content: PlainContent, to text: inout CanonicalJSON
    ) throws(Rejection) {
        for member in try text.members(of: custom, in: "custom") {
            guard !CustomKeys.reserved.contains(member.key) else {
                throw Rejection(.badField, detail: "custom: \"\(member.key)\" is reserved; give another name")
            }
            if content.image != nil && member.key == "image" || content.link != nil && member.key == "link" {
                throw Rejection(
                    .badField,
                    detail: "custom: \"\(member.key)\" is given twice, also as \(member.key); give one of them")
            }
            text.append(",")
            text.append(key: member.key)
            try text.append(member.value, of: "custom")
        }
    }
}
