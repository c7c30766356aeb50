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
                .missingField, "the payload is missing: use frame 3, or payload, or alert, badge, sound and custom")
        default:
            let first = frame == nil ? "payload" : "frame 3"
            let second = plain?.name ?? "payload"
            throw Rejection(.badField, "the payload is given twice, as \(first) and as \(second); give one")
        }
    }

    // MARK: Checks

    /// Fewer values than this cannot exceed the depth limit of a payload.
    private static let shallowCount = JSONDocument.maximumDepth
    /// The largest number of findings in one ack, which has to stay small. A person who reads one of them will check
    /// the rest.
    static let mostFindings = 10

    /// Checks a payload within the envelope, whose index already contains its values.
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

    /// Returns all findings of a payload that did not pass the quick check.
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

    /// Copies the bytes, unless they are too large.
    private func given(
        _ bytes: UnsafeRawBufferPointer, _ options: EnvelopeOptions
    ) throws(Rejection) -> [UInt8] {
        let limit = options.pushType.payloadLimit
        guard bytes.count <= limit else {
            throw Rejection(.payloadTooLarge, "\(bytes.count) bytes; \(options.pushType.rawValue) allows \(limit)")
        }
        return Array(bytes)
    }

    /// Returns the rejection of an envelope with more values than the index stores, if a payload is the reason.
    func tooLargeByFar() -> Rejection? {
        for key in [EnvelopeKey.payload, .alert, .sound, .custom] {
            guard let place = place(key), json.raw(place).count > PushType.broadcastPayloadLimit else { continue }
            return Rejection(
                .payloadTooLarge, "\(key.name) has \(json.raw(place).count) bytes, more than any payload may have")
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

    /// Builds a payload from the plain fields. Equal fields give equal bytes, independent of their order and white
    /// space.
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
