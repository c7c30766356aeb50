import PushModel

extension EnvelopeReading {
    /// The bytes for the push service, with the findings about them.
    struct JudgedPayload {
        let bytes: [UInt8]
        let kind: AddressKind
        let activity: ActivityPart?
        /// The findings for the ack; empty for a payload without findings.
        let findings: [UInt8]
        /// The forms of a message whose words depend on the device.
        let wording: Wording?

        /// - Parameter activity: What the message does with Live Activities, if it is not given by the payload alone.
        init(
            _ bytes: [UInt8], values: IndexedObject?, activity: ActivityPart? = nil, for options: MessageOptions,
            codec: any ServiceCodec
        ) throws(Rejection) {
            self.bytes = bytes
            findings = try codec.findings(in: bytes, values: values, for: options)
            kind = codec.kind(of: options.type, values: values)
            self.activity = activity ?? codec.activity(of: options.type, values: values)
            wording = nil
        }

        init(_ form: Wording.Form, in wording: Wording?, kind: AddressKind, findings: [UInt8]) {
            (bytes, self.wording, self.kind, self.findings) = (form.payload, wording, kind, findings)
            activity = nil
        }
    }

    /// Returns the payload from its only source: frame 3, `payload`, `live_activity`, or the plain fields.
    func payload(
        frame: ByteView?, to audience: Audience, for options: MessageOptions, codec: any ServiceCodec,
        index: inout JSONIndex
    ) throws(Rejection) -> JudgedPayload {
        let inline = position(.payload)
        let plain = EnvelopeKey.plain.first { position($0) != nil }
        if let live = position(.liveActivity) {
            let other = frame != nil ? "frame 3" : inline != nil ? "payload" : plain?.name
            if let other { throw Self.givenTwice(as: EnvelopeKey.liveActivity.name, and: other) }
            return try activityPayload(at: live, for: options, codec: codec, index: &index)
        }
        if position(.values) != nil, position(.alert) == nil {
            throw Rejection(.badField, detail: "values: there is no alert that they belong to")
        }
        switch (frame, inline, plain) {
        case (let frame?, nil, nil):
            return try judged(try copy(frame, for: options, codec: codec), for: options, codec: codec, index: &index)
        case (nil, let inline?, nil):
            return try exactPayload(at: inline, called: "payload", for: options, codec: codec)
        case (nil, nil, _?):
            let content = try content(by: codec.plainRules)
            if isWorded(content) {
                return try worded(content, to: audience, for: options, codec: codec, index: &index)
            }
            let bytes = try codec.payload(from: content, for: options)
            return try judged(bytes, for: options, codec: codec, index: &index)
        case (nil, nil, nil):
            throw Rejection(
                .missingField,
                detail: "the payload is missing: give payload, or plain fields such as alert; over ZeroMQ also frame 3")
        default:
            let first = frame == nil ? "payload" : "frame 3"
            let second = plain?.name ?? "payload"
            throw Self.givenTwice(as: first, and: second)
        }
    }

    /// Returns a payload that the envelope has byte for byte.
    func exactPayload(
        at position: IndexedJSON.Position, called name: String, for options: MessageOptions, codec: any ServiceCodec
    ) throws(Rejection) -> JudgedPayload {
        guard json.kind(position) == .object else {
            throw Rejection(.badPayload, detail: "\(name) is \(json.kind(position).name), not an object")
        }
        let bytes = try copy(json.raw(position), for: options, codec: codec)
        // The index of the envelope already has the values.
        return try JudgedPayload(bytes, values: IndexedObject(json, at: position), for: options, codec: codec)
    }

    private static func givenTwice(as first: String, and second: String) -> Rejection {
        Rejection(.badField, detail: "the payload is given twice, as \(first) and as \(second); give one")
    }

    func judged(
        _ bytes: [UInt8], activity: ActivityPart? = nil, for options: MessageOptions, codec: any ServiceCodec,
        index: inout JSONIndex
    ) throws(Rejection) -> JudgedPayload {
        let text = ByteView.lending(bytes) { index.padded($0) }
        var object: IndexedObject?
        if index.read(text) == .json, let values = index.values(in: text), values.kind(0) == .object {
            object = IndexedObject(values, at: 0)
        }
        return try JudgedPayload(bytes, values: object, activity: activity, for: options, codec: codec)
    }

    /// Copies the bytes, unless they are too large.
    private func copy(
        _ bytes: ByteView, for options: MessageOptions, codec: any ServiceCodec
    ) throws(Rejection) -> [UInt8] {
        let limit = codec.payloadLimit(of: options.type)
        guard bytes.count <= limit else {
            throw Rejection(
                .payloadTooLarge, detail: "\(bytes.count) bytes; \(options.type.word) allows \(limit)")
        }
        return bytes.copied
    }

    /// More than any push service takes.
    private static let maxPayloadLength = 5120

    /// Returns the rejection of an envelope with more values than the index stores, if a payload is the reason.
    func tooLargeByFar() -> Rejection? {
        for key in [EnvelopeKey.payload, .alert, .sound, .custom, .liveActivity] {
            guard let position = position(key), json.raw(position).count > Self.maxPayloadLength else { continue }
            return Rejection(
                .payloadTooLarge,
                detail: "\(key.name) has \(json.raw(position).count) bytes, more than any payload may have")
        }
        return nil
    }
}
