import PushModel

/// The members of an acceptance event that describe the request, except for the number of named devices.
extension JSONDetail {
    /// The largest number of users that an event names.
    static let maxUsers = 10
    /// The largest length of a tag expression. A longer one is omitted; the audience is still given as `tags`.
    private static let maxTagsLength = 1024

    /// Appends what differs from a message for tokens or device ids with default options, which adds nothing.
    static func append(_ request: PushRequest, to bytes: inout [UInt8]) {
        switch request.audience {
        case .tokens, .devices: break
        case .users(let users):
            append("users", as: "audience", to: &bytes)
            append(Int64(users.count), as: "user_count", to: &bytes)
            append(users.prefix(maxUsers), as: "users", to: &bytes)
        case .tags(let expression):
            append("tags", as: "audience", to: &bytes)
            append(expression, as: "tags", to: &bytes)
        case .everyone: append("all", as: "audience", to: &bytes)
        case .activities(let names):
            append("activities", as: "audience", to: &bytes)
            append(names.prefix(maxUsers), as: "activities", to: &bytes)
        }
        append(request.message, to: &bytes)
        if let client = request.client { append(client, as: "client", to: &bytes) }
    }

    /// Appends the options. Times are milliseconds since 1970, as in all JSON that Carillon writes.
    private static func append(_ message: Message, to bytes: inout [UInt8]) {
        if message.type != .alert { append(message.type.word, as: "push_type", to: &bytes) }
        if message.priority != message.type.defaultPriority {
            append(Int64(message.priority.rawValue), as: "priority", to: &bytes)
        }
        if let time = message.expiry.expiresAt { append(milliseconds(time), as: "expires_at", to: &bytes) }
        if let time = message.notBefore { append(milliseconds(time.value), as: "not_before_at", to: &bytes) }
        if let turn = message.turn {
            append(turn.local.description, as: "at_local", to: &bytes)
            if let zone = turn.zone { append(zone, as: "time_zone", to: &bytes) }
            if turn.dropsLate { append("drop", as: "late", to: &bytes) }
        }
        if let id = message.collapseID { append(id.text, as: "collapse_id", to: &bytes) }
        if message.onUnknown != .resend { append(message.onUnknown.rawValue, as: "on_unknown", to: &bytes) }
    }

    private static func milliseconds(_ seconds: Int64) -> Int64 {
        let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
        return isTooLarge ? .max : product
    }

    private static func append(_ texts: ArraySlice<String>, as name: StaticString, to bytes: inout [UInt8]) {
        appendKey(name, to: &bytes)
        bytes.append(UInt8(ascii: "["))
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONText.appendQuoted(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private static func append(_ expression: TagExpression, as name: StaticString, to bytes: inout [UInt8]) {
        let before = bytes.count
        appendKey(name, to: &bytes)
        append(expression, to: &bytes)
        if bytes.count - before > maxTagsLength { bytes.removeLast(bytes.count - before) }
    }

    /// Appends the expression in the form of an envelope. Intake has limited its depth.
    private static func append(_ expression: TagExpression, to bytes: inout [UInt8]) {
        switch expression {
        case .tag(let tag): JSONText.appendQuoted(tag, to: &bytes)
        case .all(let parts): append(parts, as: "all", to: &bytes)
        case .any(let parts): append(parts, as: "any", to: &bytes)
        case .not(let part):
            bytes.append("{\"not\":")
            append(part, to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func append(_ parts: [TagExpression], as name: StaticString, to bytes: inout [UInt8]) {
        bytes.append("{\"")
        bytes.append(name)
        bytes.append("\":[")
        for (index, part) in parts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(part, to: &bytes)
        }
        bytes.append("]}")
    }
}
