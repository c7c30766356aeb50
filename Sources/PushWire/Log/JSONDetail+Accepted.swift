import PushModel

/// The members of an acceptance event that describe the request, except for the number of named devices.
extension JSONDetail {
    /// The largest number of users that an event names.
    static let mostUsers = 10
    /// The largest length of a tag expression. A longer one is omitted; the audience is still given as `tags`.
    private static let longestTags = 1024

    /// Appends what differs from a message for tokens or device ids with default options, which adds nothing.
    static func append(_ request: PushRequest, to bytes: inout [UInt8]) {
        switch request.audience {
        case .tokens, .devices: break
        case .users(let users):
            append("audience", "users", to: &bytes)
            append("user_count", Int64(users.count), to: &bytes)
            append("users", users.prefix(mostUsers), to: &bytes)
        case .tags(let expression):
            append("audience", "tags", to: &bytes)
            append("tags", expression, to: &bytes)
        case .everyone: append("audience", "all", to: &bytes)
        }
        append(request.message, to: &bytes)
        if let client = request.client { append("client", client, to: &bytes) }
    }

    /// Appends the options. Times are milliseconds since 1970, as in all JSON that Carillon writes.
    private static func append(_ message: Message, to bytes: inout [UInt8]) {
        if message.pushType != .alert { append("push_type", message.pushType.rawValue, to: &bytes) }
        if message.priority != message.pushType.defaultPriority {
            append("priority", Int64(message.priority.rawValue), to: &bytes)
        }
        if let time = message.expiresAt { append("expires_at", milliseconds(time), to: &bytes) }
        if let time = message.notBefore { append("not_before_at", milliseconds(time), to: &bytes) }
        if let id = message.collapseID { append("collapse_id", id.text, to: &bytes) }
        if message.onUnknown != .resend { append("on_unknown", message.onUnknown.rawValue, to: &bytes) }
    }

    private static func milliseconds(_ seconds: Int64) -> Int64 {
        let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
        return isTooLarge ? .max : product
    }

    private static func append(_ name: StaticString, _ texts: ArraySlice<String>, to bytes: inout [UInt8]) {
        key(name, &bytes)
        bytes.append(UInt8(ascii: "["))
        for (place, text) in texts.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONText.appendQuoted(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private static func append(_ name: StaticString, _ expression: TagExpression, to bytes: inout [UInt8]) {
        let before = bytes.count
        key(name, &bytes)
        append(expression, to: &bytes)
        if bytes.count - before > longestTags { bytes.removeLast(bytes.count - before) }
    }

    /// Appends the expression in the form of an envelope. Intake has limited its depth.
    private static func append(_ expression: TagExpression, to bytes: inout [UInt8]) {
        switch expression {
        case .tag(let tag): JSONText.appendQuoted(tag, to: &bytes)
        case .all(let parts): append("all", parts, to: &bytes)
        case .any(let parts): append("any", parts, to: &bytes)
        case .not(let part):
            bytes.append("{\"not\":")
            append(part, to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func append(_ name: StaticString, _ parts: [TagExpression], to bytes: inout [UInt8]) {
        bytes.append("{\"")
        bytes.append(name)
        bytes.append("\":[")
        for (place, part) in parts.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            append(part, to: &bytes)
        }
        bytes.append("]}")
    }
}
