package import PushModel

/// What intake does with the content of an envelope, for those who have the content alone.
extension ServiceCodec {
    /// Renders plain fields, given as a JSON object with the members of an envelope.
    ///
    /// - Precondition: The fields have the types that an envelope requires.
    package func payload(
        fromFields fields: [UInt8], for options: MessageOptions
    ) throws(Rejection) -> [UInt8] {
        var index = JSONIndex()
        guard let object = Self.object(in: fields, index: &index) else {
            throw Rejection(.payloadTooLarge, detail: "the content is larger than any payload")
        }
        var content = PlainContent(json: object.json)
        content.alert = object.json.member("alert", of: object.root)
        content.badge = object.json.member("badge", of: object.root)
        content.sound = object.json.member("sound", of: object.root)
        content.custom = object.json.member("custom", of: object.root)
        content.image = object.json.member("image", of: object.root)
        content.link = object.json.member("link", of: object.root)
        content.category = object.json.member("category", of: object.root)
        content.thread = object.json.member("thread", of: object.root)
        try content.check(against: plainRules)
        return try payload(from: content, for: options)
    }

    /// Judges a message as intake does.
    ///
    /// - Returns: The findings for the ack; empty without findings.
    @discardableResult
    package func judge(_ payload: [UInt8], for options: MessageOptions) throws(Rejection) -> [UInt8] {
        try check(options.type)
        try check(options.priority, for: options.type)
        let limit = payloadLimit(of: options.type)
        guard payload.count <= limit else {
            throw Rejection(
                .payloadTooLarge, detail: "\(payload.count) bytes; \(options.type.word) allows \(limit)")
        }
        var index = JSONIndex()
        return try findings(in: payload, values: Self.object(in: payload, index: &index), for: options)
    }

    /// Returns the object that the text is; nil if it is none. It is valid as long as the index.
    private static func object(in bytes: [UInt8], index: inout JSONIndex) -> IndexedObject? {
        let text = ByteView.lending(bytes) { index.padded($0) }
        guard index.read(text) == .json, let values = index.values(in: text), values.kind(0) == .object else {
            return nil
        }
        return IndexedObject(values, at: 0)
    }
}
