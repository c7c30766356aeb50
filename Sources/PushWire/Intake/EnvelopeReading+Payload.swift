import PushModel

extension EnvelopeReading {
    /// The bytes for the push service, from the one place where they stand: frame 3, `payload`, or the plain fields.
    func payload(frame: UnsafeRawBufferPointer?, _ options: EnvelopeOptions) throws(Rejection) -> [UInt8] {
        let inline = place(.payload)
        let plain = [EnvelopeKey.alert, .badge, .sound, .custom].first { place($0) != nil }
        let payload: [UInt8]
        switch (frame, inline, plain) {
        case (let frame?, nil, nil):
            payload = try given(frame, options)
        case (nil, let inline?, nil):
            guard json.kind(inline) == .object else {
                throw Rejection(.badPayload, "payload is \(json.kind(inline).name), not an object")
            }
            payload = try given(json.raw(inline), options)
        case (nil, nil, _?):
            payload = try fromFields(options)
        case (nil, nil, nil):
            throw Rejection(
                .missingField, "there is no payload: give it as frame 3, as payload, or as alert, badge, sound, custom")
        default:
            let first = frame == nil ? "payload" : "frame 3"
            let second = plain?.name ?? "payload"
            throw Rejection(.badField, "\(first) and \(second) are two payloads; give one")
        }
        let rules = PushOptions(
            .device(options.pushType), priority: Int(options.priority.rawValue), expiration: options.expiresAt,
            collapseID: options.collapseID?.text)
        if PayloadRules.isAcceptable(payload, rules) { return payload }
        throw Self.rejection(of: payload, rules)
    }

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

    private static func rejection(of payload: [UInt8], _ rules: PushOptions) -> Rejection {
        guard let finding = PayloadRules.refusal(of: payload, rules) else {
            return Rejection(.badPayload, "the payload is not acceptable")
        }
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
