import PushModel

extension EnvelopeReading {
    /// The bytes for the push service, with the findings about them.
    struct JudgedPayload {
        let bytes: [UInt8]
        /// The findings for the ack; empty for a payload without findings.
        var findings: [UInt8] = []
    }

    /// Returns the payload from its only source: frame 3, `payload`, or the plain fields.
    func payload(
        frame: ByteView?, options: EnvelopeOptions, index: inout JSONIndex
    ) throws(Rejection) -> JudgedPayload {
        let inline = position(.payload)
        let plain = [EnvelopeKey.alert, .badge, .sound, .custom].first { position($0) != nil }
        switch (frame, inline, plain) {
        case (let frame?, nil, nil):
            return try judged(try copy(frame, for: options), for: options, index: &index)
        case (nil, let inline?, nil):
            guard json.kind(inline) == .object else {
                throw Rejection(.badPayload, detail: "payload is \(json.kind(inline).name), not an object")
            }
            return try judged(try copy(json.raw(inline), for: options), for: options, at: inline)
        case (nil, nil, _?):
            return try judged(try plainPayload(for: options), for: options, index: &index)
        case (nil, nil, nil):
            throw Rejection(
                .missingField,
                detail:
                    "the payload is missing: give payload, or alert, badge, sound and custom; over ZeroMQ also frame 3")
        default:
            let first = frame == nil ? "payload" : "frame 3"
            let second = plain?.name ?? "payload"
            throw Rejection(.badField, detail: "the payload is given twice, as \(first) and as \(second); give one")
        }
    }

    // MARK: Checks

    /// Fewer values than this cannot exceed the depth limit of a payload.
    private static let shallowCount = JSONDocument.maxDepth
    /// The largest number of findings in one ack, which has to stay small. A person who reads one of them will check
    /// the rest.
    static let maxFindings = 10

    /// Checks a payload within the envelope, whose index already contains its values.
    private func judged(
        _ bytes: [UInt8], for options: EnvelopeOptions, at root: IndexedJSON.Position
    ) throws(Rejection) -> JudgedPayload {
        try judged(bytes, for: options, isClean: Self.isClean(bytes, at: root, in: json, type: options.pushType))
    }

    private func judged(
        _ bytes: [UInt8], for options: EnvelopeOptions, index: inout JSONIndex
    ) throws(Rejection) -> JudgedPayload {
        let text = ByteView.lending(bytes) { index.padded($0) }
        guard index.read(text) == .json, let values = index.values(in: text), values.kind(0) == .object else {
            return try judged(bytes, for: options, isClean: false)
        }
        return try judged(bytes, for: options, isClean: Self.isClean(bytes, at: 0, in: values, type: options.pushType))
    }

    private func judged(
        _ bytes: [UInt8], for options: EnvelopeOptions, isClean: Bool
    ) throws(Rejection) -> JudgedPayload {
        let checked = PushOptions(
            .device(options.pushType), priority: Int(options.priority.rawValue), expiration: options.expiry.expiresAt,
            collapseID: options.collapseID?.text)
        if isClean, PayloadScreen.isClean(checked) { return JudgedPayload(bytes: bytes) }
        return JudgedPayload(bytes: bytes, findings: try Self.findings(in: bytes, for: checked))
    }

    private static func isClean(
        _ bytes: [UInt8], at root: IndexedJSON.Position, in json: IndexedJSON, type: PushType
    ) -> Bool {
        bytes.count <= type.payloadLimit && PayloadScreen(json, type: type).isClean(root)
            && (json.next(root) - root <= shallowCount || JSONDocument.isObject(bytes))
    }

    /// Returns all findings of a payload that did not pass the quick check.
    private static func findings(in payload: [UInt8], for options: PushOptions) throws(Rejection) -> [UInt8] {
        let findings = PayloadRules.findings(in: payload, for: options, limit: maxFindings)
        if let refusal = findings.first(where: { $0.severity == .refused }) {
            throw rejection(of: payload, for: refusal, options: options)
        }
        let breaches = findings.filter { $0.breaksRules(of: options.pushType) }
            .map { rejection(of: payload, for: $0, options: options) }
        if let first = breaches.first {
            throw Rejection(first.reason, detail: breaches.map(\.detail).joined(separator: "; "))
        }
        return AckText.findings(findings)
    }

    // MARK: Bytes

    /// Copies the bytes, unless they are too large.
    private func copy(_ bytes: ByteView, for options: EnvelopeOptions) throws(Rejection) -> [UInt8] {
        let limit = options.pushType.payloadLimit
        guard bytes.count <= limit else {
            throw Rejection(
                .payloadTooLarge, detail: "\(bytes.count) bytes; \(options.pushType.rawValue) allows \(limit)")
        }
        return bytes.copied
    }

    /// Returns the rejection of an envelope with more values than the index stores, if a payload is the reason.
    func tooLargeByFar() -> Rejection? {
        for key in [EnvelopeKey.payload, .alert, .sound, .custom] {
            guard let position = position(key), json.raw(position).count > PushType.broadcastPayloadLimit else {
                continue
            }
            return Rejection(
                .payloadTooLarge,
                detail: "\(key.name) has \(json.raw(position).count) bytes, more than any payload may have")
        }
        return nil
    }

    private static func rejection(
        of payload: [UInt8], for finding: PayloadFinding, options: PushOptions
    ) -> Rejection {
        switch finding.code {
        case .tooLarge:
            return Rejection(
                .payloadTooLarge,
                detail: "\(payload.count) bytes; \(options.pushType.rawValue) allows \(options.payloadLimit)")
        case .badPriority, .priorityOfAnotherType, .badCollapseID, .wrongTopic, .badExpiration, .expirationTooLate,
            .expirationPast, .expirationStored:
            return Rejection(.badField, detail: "\(finding.path): \(finding.problem); \(finding.advice)")
        default:
            let prefix = finding.path.isEmpty ? "" : "\(finding.path): "
            return Rejection(.badPayload, detail: "\(prefix)\(finding.problem); \(finding.advice)")
        }
    }

    // MARK: Plain fields

    /// Builds a payload from the plain fields. Equal fields give equal bytes, independent of their order and white
    /// space.
    private func plainPayload(for options: EnvelopeOptions) throws(Rejection) -> [UInt8] {
        var text = PlainPayload(json, limit: options.pushType.payloadLimit)
        text.begin()
        if let alert = position(.alert) {
            guard json.kind(alert).isString || json.kind(alert) == .object else {
                throw wrongType(of: .alert, at: alert, expected: "a string or an object")
            }
            try text.add(.alert, at: alert)
        }
        if try integer(.badge) != nil, let badge = position(.badge) { try text.add(.badge, at: badge) }
        if let sound = position(.sound) {
            guard json.kind(sound).isString || json.kind(sound) == .object else {
                throw wrongType(of: .sound, at: sound, expected: "a string or an object")
            }
            try text.add(.sound, at: sound)
        }
        text.endAps()
        if let custom = position(.custom) {
            guard json.kind(custom) == .object else { throw wrongType(of: .custom, at: custom, expected: "an object") }
            try text.addCustom(custom)
        }
        if text.isTooLarge {
            let limit = options.pushType.payloadLimit
            throw Rejection(
                .payloadTooLarge, detail: "over \(limit) bytes; \(options.pushType.rawValue) allows \(limit)")
        }
        return text.end()
    }
}
