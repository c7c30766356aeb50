import PushModel
import PushText
import PushTime

/// The state of parsing one envelope: the positions of its values and what the caller passed in.
struct EnvelopeReading {
    let json: IndexedJSON
    let apps: AppTable
    /// The positions of the values of the keys.
    private var positions = EnvelopeKey.Positions(repeating: 0)
    let now: UnixSeconds

    init(_ json: IndexedJSON, apps: AppTable, now: UnixSeconds) {
        self.json = json
        self.apps = apps
        self.now = now
    }

    @inline(__always)
    func position(_ key: EnvelopeKey) -> IndexedJSON.Position? {
        let position = positions[key.rawValue]
        return position == 0 ? nil : Int(position)
    }

    /// - Parameter index: The index for a payload outside of the envelope.
    mutating func request(
        payload: ByteView?, index: inout JSONIndex, moments: inout LocalMoments
    ) throws(Rejection) -> PushRequest {
        try gather()
        let id = try messageID()
        guard let position = position(.app) else { throw Rejection(.missingField, detail: "app is missing") }
        try requireString(.app, at: position)
        guard let number = json.withUTF8(of: position, { apps.number(of: $0) }) else {
            return try familyRequest(id, at: position, payload: payload, index: &index, moments: &moments)
        }
        for key in [EnvelopeKey.prefer, .payloads] where self.position(key) != nil {
            throw Rejection(
                .badField, detail: "\(key.name) is for a family of apps, and \(apps.apps[number].id) is an app")
        }
        let app = apps.apps[number]
        let options = try options(for: app.codec)
        let audience = try audience(for: app.codec)
        let judged = try self.payload(
            frame: payload, to: audience, for: options.message, codec: app.codec, index: &index)
        if judged.activity != nil || audience.isOfActivities {
            try check(judged.activity, to: audience, isScheduled: options.notBefore != nil)
        }
        let request = request(id, to: app.id, audience, judged, options)
        guard let local = options.local else { return request }
        let turns = try turns(of: request, at: local, for: app, moments: &moments)
        return try joined(turns, of: nil, turnCount: turns.count, findings: request.findings)
    }

    func request(
        _ id: MessageID, to app: AppID, _ audience: Audience, _ judged: JudgedPayload, _ options: EnvelopeOptions,
        preferred: [PreferredApp] = []
    ) -> PushRequest {
        let message = Message(
            id: id, app: app, type: options.message.type, kind: judged.kind,
            priority: options.message.priority, expiry: options.message.expiry, collapseID: options.message.collapseID,
            payload: judged.bytes, activity: judged.activity, wording: judged.wording, preferred: preferred,
            onUnknown: options.onUnknown, notBefore: options.notBefore, traceparent: options.traceparent)
        // The users of values are in order.
        let recipients = judged.wording?.values.map { .users($0.users) } ?? audience
        return PushRequest(message, to: recipients, again: options.again, findings: judged.findings)
    }

    // MARK: Members

    private mutating func gather() throws(Rejection) {
        guard json.kind(0) == .object else {
            throw Rejection(.badJSON, detail: "the envelope is \(json.kind(0).name), not an object")
        }
        if let fault = gatherMembers() { throw fault }
        guard json.count < JSONIndex.maxNodes else {
            throw tooManyNamed() ?? tooManyValues() ?? tooLargeByFar()
                ?? Rejection(.tooMany, detail: "the envelope has more than \(JSONIndex.maxNodes) values")
        }
    }

    /// Records the positions of all members, so that the id is known even if others are invalid, and returns the first
    /// fault. If the text is not JSON, it records the members before the error.
    @discardableResult
    mutating func gatherMembers() -> Rejection? {
        guard json.count > 0, json.kind(0) == .object else { return nil }
        var fault: Rejection?
        var position = 1
        var expected = 0
        while position + 1 < json.count {
            let value = position + 1
            let number =
                json.isPlainString(position)
                ? EnvelopeKey.table.number(of: json.inner(position), hint: expected)
                : json.withUTF8(of: position) { EnvelopeKey.table.number(of: $0) }
            if let number {
                if positions[number] == 0 {
                    positions[number] = Int32(value)
                } else {
                    fault = fault ?? Rejection(.badField, detail: "\(EnvelopeKey.table.words[number]) is given twice")
                }
                expected = number + 1
            } else {
                fault = fault ?? unknownKey(json.string(position) ?? "")
            }
            let next = json.next(value)
            // True only if the text ended within a bracket.
            guard next > value else { break }
            position = next
        }
        return fault
    }

    private func unknownKey(_ key: String) -> Rejection {
        let advice =
            Self.membersOfAlert.contains(key)
            ? "; it is a member of alert" : EnvelopeKey.table.nearest(to: key).map { "; did you mean \($0)?" } ?? ""
        return Rejection(.badField, detail: "there is no key \"\(PlainText.name(key))\"\(advice)")
    }

    private static let membersOfAlert: Set = ["title", "subtitle", "body"]

    // MARK: Id and app

    /// The id as the producer gave it, cut to 128 bytes.
    var idAsGiven: String? {
        guard let position = position(.id), let id = json.string(position) else { return nil }
        guard id.utf8.count > 128 else { return id }
        var short = ""
        for scalar in id.unicodeScalars {
            guard short.utf8.count + UTF8.width(scalar) <= 128 else { break }
            short.unicodeScalars.append(scalar)
        }
        return short
    }

    var namedApp: AppID? {
        guard let position = position(.app), json.kind(position).isString else { return nil }
        return json.withUTF8(of: position) { apps.number(of: $0) }.map { apps.apps[$0].id }
    }

    var namedFamily: Family? {
        guard let position = position(.app), json.kind(position).isString else { return nil }
        return json.withUTF8(of: position) { apps.family(of: $0)?.family }
    }

    private func messageID() throws(Rejection) -> MessageID {
        guard let position = position(.id) else { throw Rejection(.missingField, detail: "id is missing") }
        try requireString(.id, at: position)
        if let id = json.withUTF8(of: position, { unsafe MessageID(utf8: $0.bytes) }) {
            guard !DotSteps.occur(in: id.text.utf8) else {
                throw Rejection(
                    .badField, detail: "id has a step . or .. of a path; HTTP could not look it up or cancel it")
            }
            return id
        }
        let count = json.withUTF8(of: position) { $0.count }
        throw Rejection(
            .badField,
            detail: count == 0
                ? "id is empty" : count > 128 ? "id has \(count) bytes; 128 are allowed" : "id has a control character")
    }

    // MARK: Types

    @inline(__always)
    func requireString(_ key: EnvelopeKey, at position: IndexedJSON.Position) throws(Rejection) {
        guard json.kind(position).isString else { throw wrongType(of: key, at: position, expected: "a string") }
    }

    func wrongType(of key: EnvelopeKey, at position: IndexedJSON.Position, expected: String) -> Rejection {
        Rejection(.badField, detail: "\(key.name) is \(json.kind(position).name), not \(expected)")
    }

    /// Returns a whole number that is not negative; nil if the key is absent.
    func integer(_ key: EnvelopeKey) throws(Rejection) -> Int64? {
        guard let position = position(key) else { return nil }
        guard let number = json.wholeNumber(position) else {
            switch json.kind(position) {
            case .fraction: throw Rejection(.badField, detail: "\(key.name) is not a whole number of 64 bits")
            case .integer: throw Rejection(.badField, detail: "\(key.name) does not fit into 64 bits")
            default:
                let expected =
                    switch key {
                    case .priority: "10, 5 or 1"
                    case .expiresAt, .notBefore: "a whole number of seconds since 1970"
                    default: "a whole number"
                    }
                throw wrongType(of: key, at: position, expected: expected)
            }
        }
        guard number >= 0 else { throw Rejection(.badField, detail: "\(key.name) is negative") }
        return number
    }

    func flag(_ key: EnvelopeKey) throws(Rejection) -> Bool {
        guard let position = position(key) else { return false }
        guard json.kind(position).isBool else { throw wrongType(of: key, at: position, expected: "true or false") }
        return json.kind(position) == .true
    }

    /// Returns the index of a word in a closed set; nil if the key is absent.
    func word(_ key: EnvelopeKey, of table: WordTable) throws(Rejection) -> Int? {
        guard let position = position(key) else { return nil }
        try requireString(key, at: position)
        if let number = json.withUTF8(of: position, { table.number(of: $0) }) { return number }
        let given = json.string(position) ?? ""
        throw Rejection(
            .badField,
            detail: "\(key.name) does not allow \"\(PlainText.name(given))\""
                + (table.nearest(to: given).map { "; did you mean \($0)?" }
                    ?? "; use one of \(table.words.joined(separator: ", "))"))
    }
}
