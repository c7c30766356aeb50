import PushModel
import PushWire

/// A payload built from the plain fields of an envelope: `aps` first, then the custom members.
enum PlainPayload {
    static func bytes(from content: PlainContent, limit: Int, of type: MessageType) throws(Rejection) -> [UInt8] {
        var text = CanonicalJSON(content.json, limit: limit)
        text.append(#"{"aps":{"#)
        var isFirst = true
        let members: [(StaticString, IndexedJSON.Position?)] = [
            ("alert", content.alert), ("badge", content.badge), ("sound", content.sound),
        ]
        for case (let name, let position?) in members {
            if !isFirst { text.append(",") }
            isFirst = false
            text.append(key: "\(name)")
            try text.append(position, of: name)
        }
        text.append("}")
        if let custom = content.custom { try append(custom, to: &text) }
        if text.isTooLarge {
            throw Rejection(.payloadTooLarge, detail: "over \(limit) bytes; \(type.word) allows \(limit)")
        }
        text.append("}")
        return text.bytes
    }

    /// Appends the members beside `aps`.
    private static func append(_ custom: IndexedJSON.Position, to text: inout CanonicalJSON) throws(Rejection) {
        for member in try text.members(of: custom, in: "custom") {
            guard !CustomKeys.reserved.contains(member.key) else {
                throw Rejection(.badField, detail: "custom: \"\(member.key)\" is reserved; give another name")
            }
            text.append(",")
            text.append(key: member.key)
            try text.append(member.value, of: "custom")
        }
    }
}
