import PushModel
import PushText

/// Envelopes to a family: a request for each member, under the same message id.
extension EnvelopeReading {
    /// The largest size of the requests to all members together. They go to the ledger, and to other nodes, as one.
    static let maxFamilySize = 16 << 20

    /// Returns the request to the first member of a family, which has those to the others.
    func familyRequest(
        _ id: MessageID, at name: IndexedJSON.Position, payload: ByteView?, index: inout JSONIndex,
        moments: inout LocalMoments
    ) throws(Rejection) -> PushRequest {
        guard let (family, members) = json.withUTF8(of: name, { apps.family(of: $0) }) else {
            throw Rejection(.unknownApp, detail: "there is no app \"\(PlainText.name(json.string(name) ?? ""))\"")
        }
        if let fault = apps.familyFault { throw Rejection(.badField, detail: "app: \(family.name): \(fault)") }
        try checkSources(of: family, payload)
        try checkAudience(of: family)
        let audience = try audience(for: members[0].codec)
        let order = try order(of: family, audience)
        try checkPayloads(of: family, members)
        var judged: [(options: EnvelopeOptions, payload: JudgedPayload)] = []
        for member in members {
            do throws(Rejection) {
                judged.append(try judge(for: member, audience, index: &index))
            } catch {
                throw Rejection(error.reason, detail: "\(member.id): \(error.detail)")
            }
        }
        let requests = members.indices.map { place in
            request(
                id, to: members[place].id, audience, judged[place].payload, judged[place].options,
                preferred: order.prefix(while: { $0 != place }).map { before in
                    PreferredApp(members[before].id, kind: judged[before].payload.kind)
                })
        }
        var all: [PushRequest] = []
        for (place, request) in requests.enumerated() {
            if let local = judged[place].options.local {
                all += try turns(of: request, at: local, for: members[place], moments: &moments)
            } else {
                all.append(request)
            }
        }
        return try joined(
            all, of: family, turnCount: all.count / requests.count, findings: findings(of: requests))
    }

    private func findings(of requests: [PushRequest]) -> [UInt8] {
        var findings: [UInt8] = []
        for request in requests {
            FamilyFindings.append(request.findings, of: request.message.app, to: &findings)
        }
        return FamilyFindings.finished(findings)
    }

    // MARK: What a family allows

    private func checkSources(of family: Family, _ payload: ByteView?) throws(Rejection) {
        if payload != nil || position(.payload) != nil {
            throw Rejection(
                .badField,
                detail: "\(payload == nil ? "payload" : "frame 3"): the members of \(family.name) do not take the "
                    + "same bytes; use payloads, or plain fields such as alert")
        }
        if position(.liveActivity) != nil {
            throw Rejection(.badField, detail: "live_activity: it goes to a single app, and \(family.name) is a family")
        }
    }

    private func checkAudience(of family: Family) throws(Rejection) {
        guard let to = position(.to), json.kind(to) == .object, json.size(to) > 0 else { return }
        let key = json.string(to + 1) ?? ""
        guard key == "tokens" || key == "activities" else { return }
        throw Rejection(
            .badAudience,
            detail: "\(key) belong to a single app, and \(family.name) is a family; use users, tags, devices or all")
    }

    /// Returns the places of the members in the order of `prefer`; empty without it.
    private func order(of family: Family, _ audience: Audience) throws(Rejection) -> [Int] {
        guard let prefer = position(.prefer) else { return [] }
        guard json.kind(prefer) == .array else { throw wrongType(of: .prefer, at: prefer, expected: "an array") }
        if case .devices = audience {
            throw Rejection(.badField, detail: "prefer: each of the devices belongs to one app only; use users")
        }
        var order: [Int] = []
        var position = prefer + 1
        for _ in 0..<json.size(prefer) {
            guard let name = json.string(position) else {
                throw Rejection(.badField, detail: "prefer has \(json.kind(position).name), not the name of an app")
            }
            guard let place = family.members.firstIndex(where: { $0.name == name }) else {
                throw Rejection(
                    .badField, detail: "prefer: \"\(PlainText.name(name))\" is not a member of \(family.name)")
            }
            guard !order.contains(place) else { throw Rejection(.badField, detail: "prefer names \(name) twice") }
            order.append(place)
            position = json.next(position)
        }
        guard !order.isEmpty else { throw Rejection(.badField, detail: "prefer is empty") }
        return order + family.members.indices.filter { !order.contains($0) }
    }

    private func checkPayloads(of family: Family, _ members: [AppFacts]) throws(Rejection) {
        guard let payloads = position(.payloads) else { return }
        guard json.kind(payloads) == .object else {
            throw wrongType(of: .payloads, at: payloads, expected: "an object")
        }
        var key = payloads + 1
        var seen: [String] = []
        for _ in 0..<json.size(payloads) {
            let service = json.string(key) ?? ""
            guard members.contains(where: { $0.service == service && !service.isEmpty }) else {
                throw Rejection(
                    .badField,
                    detail: "payloads: no member of \(family.name) has the service \"\(PlainText.name(service))\"")
            }
            guard !seen.contains(service) else {
                throw Rejection(.badField, detail: "payloads names \(service) twice")
            }
            seen.append(service)
            key = json.next(key + 1)
        }
    }

    // MARK: Members

    private func judge(
        for member: AppFacts, _ audience: Audience, index: inout JSONIndex
    ) throws(Rejection) -> (options: EnvelopeOptions, payload: JudgedPayload) {
        let options = try options(for: member.codec)
        let own = position(.payloads).flatMap { payload(of: member.service, in: $0) }
        if own == nil, !EnvelopeKey.plain.contains(where: { position($0) != nil }) {
            throw Rejection(
                .missingField,
                detail: "the payload is missing: give plain fields such as alert, or payloads/\(member.service)")
        }
        let judged =
            if let own {
                try exactPayload(
                    at: own, called: "payloads/\(member.service)", for: options.message, codec: member.codec)
            } else {
                try payload(
                    frame: nil, to: audience, for: options.message, codec: member.codec, index: &index)
            }
        if judged.activity != nil {
            throw Rejection(.badField, detail: "payloads/\(member.service): a Live Activity is of a single app")
        }
        return (options, judged)
    }
}

extension EnvelopeReading {
    /// Returns the value of a member of `payloads`; nil if it has none for this service.
    private func payload(of service: String, in payloads: IndexedJSON.Position) -> IndexedJSON.Position? {
        var key = payloads + 1
        for _ in 0..<json.size(payloads) {
            if !service.isEmpty, json.string(key) == service { return key + 1 }
            key = json.next(key + 1)
        }
        return nil
    }
}

/// The findings about the payloads for a family: those about each, with the member `app`.
enum FamilyFindings {
    /// Appends the objects of an array of findings, without the brackets of the array.
    static func append(_ findings: [UInt8], of app: AppID, to bytes: inout [UInt8]) {
        guard findings.count > 2 else { return }
        if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
        var depth = 0
        var isInText = false
        var isEscaped = false
        for byte in findings.dropFirst().dropLast() {
            bytes.append(byte)
            if isInText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInText = true
            case UInt8(ascii: "{"):
                depth += 1
                if depth == 1 { appendApp(app, to: &bytes) }
            case UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
    }

    private static func appendApp(_ app: AppID, to bytes: inout [UInt8]) {
        bytes.append(#""app":"#)
        JSONText.appendQuoted(app.name, to: &bytes)
        bytes.append(UInt8(ascii: ","))
    }

    /// Returns the array; empty if there are no findings.
    static func finished(_ findings: [UInt8]) -> [UInt8] {
        findings.isEmpty ? [] : [UInt8(ascii: "[")] + findings + [UInt8(ascii: "]")]
    }
}
