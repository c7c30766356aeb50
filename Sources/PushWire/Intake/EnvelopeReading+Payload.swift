import PushModel

extension EnvelopeReading {
    /// The bytes for the push service, and what there is to say of them.
    struct JudgedPayload {
        let bytes: [UInt8]
        /// For the ack; empty for a payload that is as it should be.
        var findings: [UInt8] = []
    }

    /// From the one place where it stands: frame 3, `payload`, or the plain fields.
    func payload(
        frame: UnsafeRawBufferPointer?, _ options: EnvelopeOptions, index: inout JSONIndex
    ) throws(Rejection) -> JudgedPayload {
        let inline = place(.payload)
        let plain = [EnvelopeKey.alert, .badge, .sound, .custom].first { place($0) != nil }
        switch (frame, inline, plain) {
        case (let frame?, nil, nil):
            return try judged(try given(frame, options), options, index: &index)
        case (nil, let inline?, nil):
            guard json.kind(inline) == .object else {
                throw Rejection(.badPayload, "payload is \(json.kind(inline).name), not an object")
            }
            return try judged(try given(json.raw(inline), options), options, at: inline)
        case (nil, nil, _?):
            return try judged(try fromFields(options), options, index: &index)
        case (nil, nil, nil):
            throw Rejection(
                .missingField, "there is no payload: give it as frame 3, as payload, or as alert, badge, sound, custom")
        default:
            let first = frame == nil ? "payload" : "frame 3"
            let second = plain?.name ?? "payload"
            throw Rejection(.badField, "\(first) and \(second) are two payloads; give one")
        }
    }

    // MARK: Judgement

    /// So many values cannot be nested deeper than a payload may be.
    private static let shallowCount = JSONDocument.maximumDepth
    /// In one ack: it has to stay small, and whoever reads one of them looks at the rest.
    static let mostFindings = 10

    /// A payload that stands in the envelope, whose values were found with those of the envelope.
    private func judged(
        _ bytes: [UInt8], _ options: EnvelopeOptions, at root: IndexedJSON.Place
    ) throws(Rejection) -> JudgedPayload {
        try judged(bytes, options, isClean: Self.isClean(json, root, bytes, options.pushType))
    }

    private func judged(
        _ bytes: [UInt8], _ options: EnvelopeOptions, index: inout JSONIndex
    ) throws(Rejection) -> JudgedPayload {
        let text = bytes.withUnsafeBytes { index.padded($0) }
        guard index.read(text) == .json, let found = index.found(in: text), found.kind(0) == .object else {
            return try judged(bytes, options, isClean: false)
        }
        return try judged(bytes, options, isClean: Self.isClean(found, 0, bytes, options.pushType))
    }

    private func judged(
        _ bytes: [UInt8], _ options: EnvelopeOptions, isClean: Bool
    ) throws(Rejection) -> JudgedPayload {
        let rules = PushOptions(
            .device(options.pushType), priority: Int(options.priority.rawValue), expiration: options.expiresAt,
            collapseID: options.collapseID?.text)
        if isClean, PayloadScreen.isClean(rules) { return JudgedPayload(bytes: bytes) }
        return JudgedPayload(bytes: bytes, findings: try Self.findings(in: bytes, rules))
    }

    private static func isClean(
        _ json: IndexedJSON, _ root: IndexedJSON.Place, _ bytes: [UInt8], _ type: PushType
    ) -> Bool {
        bytes.count <= type.payloadLimit && PayloadScreen(json, type).isClean(root)
            && (json.next(root) - root <= shallowCount || JSONDocument.isObject(bytes))
    }

    /// The thorough way, for payloads of which something is to be said.
    private static func findings(in payload: [UInt8], _ rules: PushOptions) throws(Rejection) -> [UInt8] {
        let findings = PayloadRules.findings(in: payload, rules, limit: mostFindings)
        if let refusal = findings.first(where: { $0.severity == .refused }) {
            throw rejection(of: payload, for: refusal, rules)
        }
        if let breach = findings.first(where: { $0.breaksRules(of: rules.pushType) }) {
            throw rejection(of: payload, for: breach, rules)
        }
        return AckText.findings(findings)
    }

    // MARK: Bytes

    /// What is far too large is not even copied.
    private func given(
        _ bytes: UnsafeRawBufferPointer, _ options: EnvelopeOptions
    ) throws(Rejection) -> [UInt8] {
        let limit = options.pushType.payloadLimit
        guard bytes.count <= limit else {
            throw Rejection(.payloadTooLarge, "\(bytes.count) bytes; \(options.pushType.rawValue) allows \(limit)")
        }
        return Array(bytes)
    }

    /// For an envelope with so much in it that not all was kept.
    func tooLargeByFar() -> Rejection? {
        for key in [EnvelopeKey.payload, .alert, .sound, .custom] {
            guard let place = place(key), json.raw(place).count > PushType.broadcastPayloadLimit else { continue }
            return Rejection(
                .payloadTooLarge, "\(json.raw(place).count) bytes of \(key.name) are more than any payload has")
        }
        return nil
    }

    private static func rejection(
        of payload: [UInt8], for finding: PayloadFinding, _ rules: PushOptions
    ) -> Rejection {
        switch finding.code {
        case .tooLarge:
            return Rejection(
                .payloadTooLarge,
                "\(payload.count) bytes; \(rules.pushType.rawValue) allows \(rules.payloadLimit)")
        case .badPriority, .priorityOfAnotherType, .badCollapseID, .wrongTopic, .badExpiration, .expirationTooLate,
            .expirationPast, .expirationStored:
            return Rejection(.badField, "\(finding.path): \(finding.problem); \(finding.advice)")
        default:
            let place = finding.path.isEmpty ? "" : "\(finding.path): "
            return Rejection(.badPayload, "\(place)\(finding.problem); \(finding.advice)")
        }
    }

    // MARK: Plain fields

    /// The same fields give the same bytes, in whatever order and with whatever space they were written.
    private func fromFields(_ options: EnvelopeOptions) throws(Rejection) -> [UInt8] {
        var text = PlainPayload(json, limit: options.pushType.payloadLimit)
        text.begin()
        if let alert = place(.alert) {
            guard json.kind(alert).isString || json.kind(alert) == .object else {
                throw isNot(.alert, alert, "a string or an object")
            }
            try text.add(.alert, alert)
        }
        if try integer(.badge) != nil, let badge = place(.badge) { try text.add(.badge, badge) }
        if let sound = place(.sound) {
            guard json.kind(sound).isString || json.kind(sound) == .object else {
                throw isNot(.sound, sound, "a string or an object")
            }
            try text.add(.sound, sound)
        }
        text.endAps()
        if let custom = place(.custom) {
            guard json.kind(custom) == .object else { throw isNot(.custom, custom, "an object") }
            try text.addCustom(custom)
        }
        if text.isTooLarge {
            let limit = options.pushType.payloadLimit
            throw Rejection(
                .payloadTooLarge, "over \(limit) bytes; \(options.pushType.rawValue) allows \(limit)")
        }
        return text.end()
    }
}
