import PushModel

/// The state of parsing one envelope: the positions of its values and what the caller passed in.
struct EnvelopeReading {
    let json: IndexedJSON
    let apps: AppTable
    /// The position of the value of each key; 0, the position of the whole envelope, if the key is absent.
    let places: UnsafeMutableBufferPointer<Int32>
    /// Seconds since 1970.
    let now: Int64

    init(_ json: IndexedJSON, apps: AppTable, places: UnsafeMutableBufferPointer<Int32>, now: Int64) {
        self.json = json
        self.apps = apps
        self.places = places
        self.now = now
        places.update(repeating: 0)
    }

    @inline(__always)
    func place(_ key: EnvelopeKey) -> IndexedJSON.Place? {
        let place = places[key.rawValue]
        return place == 0 ? nil : Int(place)
    }

    /// - Parameter index: The index for a payload outside of the envelope.
    func request(payload: UnsafeRawBufferPointer?, index: inout JSONIndex) throws(Rejection) -> PushRequest {
        try gather()
        let id = try messageID()
        let number = try app()
        let app = apps.apps[number]
        let options = try options(of: app, number)
        let audience = try audience()
        let judged = try self.payload(frame: payload, options, index: &index)
        let message = Message(
            id: id, app: app.id, pushType: options.pushType, priority: options.priority, expiresAt: options.expiresAt,
            collapseID: options.collapseID, payload: judged.bytes,
            onUnknown: options.onUnknown, notBefore: options.notBefore, traceparent: options.traceparent)
        return PushRequest(message, to: audience, again: options.again, findings: judged.findings)
    }

    // MARK: Members

    private func gather() throws(Rejection) {
        guard json.kind(0) == .object else {
            throw Rejection(.badJSON, "the envelope is \(json.kind(0).name), not an object")
        }
        if let fault = gatherWhatIsThere() { throw fault }
        guard json.count < JSONIndex.mostNodes else {
            throw tooManyNamed() ?? tooLargeByFar()
                ?? Rejection(.tooMany, "the envelope has more than \(JSONIndex.mostNodes) values")
        }
    }

    /// Records the positions of all members, so that the id is known even if others are invalid, and returns the first
    /// fault. If the text is not JSON, it records the members before the error.
    @discardableResult
    func gatherWhatIsThere() -> Rejection? {
        guard json.count > 0, json.kind(0) == .object else { return nil }
        var fault: Rejection?
        var place = 1
        var expected = 0
        while place + 1 < json.count {
            let value = place + 1
            let number =
                json.isPlainString(place)
                ? EnvelopeKey.table.number(of: json.inner(place), hint: expected)
                : json.withUTF8(place) { EnvelopeKey.table.number(of: $0) }
            if let number {
                if places[number] == 0 {
                    places[number] = Int32(value)
                } else {
                    fault = fault ?? Rejection(.badField, "\(EnvelopeKey.table.words[number]) is given twice")
                }
                expected = number + 1
            } else {
                fault = fault ?? unknownKey(json.string(place) ?? "")
            }
            let next = json.next(value)
            // True only if the text ended within a bracket.
            guard next > value else { break }
            place = next
        }
        return fault
    }

    private func unknownKey(_ key: String) -> Rejection {
        let near = EnvelopeKey.table.nearest(to: key)
        return Rejection(
            .badField, "there is no key \"\(PayloadRules.name(key))\"" + (near.map { "; did you mean \($0)?" } ?? ""))
    }

    // MARK: Id and app

    /// The id as the producer gave it, cut to 128 bytes.
    var idAsGiven: String? {
        guard let place = place(.id), let id = json.string(place) else { return nil }
        guard id.utf8.count > 128 else { return id }
        var short = ""
        for scalar in id.unicodeScalars {
            guard short.utf8.count + UTF8.width(scalar) <= 128 else { break }
            short.unicodeScalars.append(scalar)
        }
        return short
    }

    var namedApp: AppID? {
        guard let place = place(.app), json.kind(place).isString else { return nil }
        return json.withUTF8(place) { apps.number(of: $0) }.map { apps.apps[$0].id }
    }

    private func messageID() throws(Rejection) -> MessageID {
        guard let place = place(.id) else { throw Rejection(.missingField, "id is missing") }
        try want(string: .id, place)
        if let id = json.withUTF8(place, { MessageID(utf8: $0) }) { return id }
        let count = json.withUTF8(place) { $0.count }
        throw Rejection(
            .badField,
            count == 0
                ? "id is empty" : count > 128 ? "id has \(count) bytes; 128 are allowed" : "id has a control character")
    }

    /// Returns the number of the app in the table.
    private func app() throws(Rejection) -> Int {
        guard let place = place(.app) else { throw Rejection(.missingField, "app is missing") }
        try want(string: .app, place)
        guard let number = json.withUTF8(place, { apps.number(of: $0) }) else {
            throw Rejection(.unknownApp, "there is no app \"\(PayloadRules.name(json.string(place) ?? ""))\"")
        }
        return number
    }

    // MARK: Types

    @inline(__always)
    func want(string key: EnvelopeKey, _ place: IndexedJSON.Place) throws(Rejection) {
        guard json.kind(place).isString else { throw isNot(key, place, "a string") }
    }

    func isNot(_ key: EnvelopeKey, _ place: IndexedJSON.Place, _ wanted: String) -> Rejection {
        Rejection(.badField, "\(key.name) is \(json.kind(place).name), not \(wanted)")
    }

    /// Returns a whole number that is not negative; nil if the key is absent.
    func integer(_ key: EnvelopeKey) throws(Rejection) -> Int64? {
        guard let place = place(key) else { return nil }
        guard let number = json.integer(place) else {
            switch json.kind(place) {
            case .fraction:
                throw Rejection(.badField, "\(key.name) has a decimal point or an exponent; write a whole number")
            case .integer: throw Rejection(.badField, "\(key.name) does not fit into 64 bits")
            default: throw isNot(key, place, "a whole number")
            }
        }
        guard number >= 0 else { throw Rejection(.badField, "\(key.name) is negative") }
        return number
    }

    func flag(_ key: EnvelopeKey) throws(Rejection) -> Bool {
        guard let place = place(key) else { return false }
        guard json.kind(place).isBool else { throw isNot(key, place, "true or false") }
        return json.kind(place) == .true
    }

    /// Returns the index of a word in a closed set; nil if the key is absent.
    func word(_ key: EnvelopeKey, of table: WordTable) throws(Rejection) -> Int? {
        guard let place = place(key) else { return nil }
        try want(string: key, place)
        if let number = json.withUTF8(place, { table.number(of: $0) }) { return number }
        let given = json.string(place) ?? ""
        throw Rejection(
            .badField,
            "\(key.name) does not allow \"\(PayloadRules.name(given))\""
                + (table.nearest(to: given).map { "; did you mean \($0)?" }
                    ?? "; use one of \(table.words.joined(separator: ", "))"))
    }
}
