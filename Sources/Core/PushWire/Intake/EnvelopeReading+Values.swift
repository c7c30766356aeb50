import PushModel
import PushText

/// The values of the recipients of a message.
struct NamedValues {
    /// The names that the texts of the alert contain, in ascending order.
    let names: [String]
    let values: UserValues

    /// Returns the user with the longest values at these places; nil if there are no places.
    func largest(in places: [Wording.Place]) -> Int? {
        guard !places.isEmpty else { return nil }
        let counts = places.reduce(into: Array(repeating: 0, count: names.count)) { $0[$1.value] += 1 }
        var (largest, most) = (0, -1)
        for user in values.users.indices {
            var length = 0
            for number in counts.indices where counts[number] > 0 {
                length += counts[number] * values.length(number, of: user)
            }
            if length > most { (largest, most) = (user, length) }
        }
        return largest
    }

    /// Returns the payload of a form for one user.
    func payload(of form: Wording.Form, for user: Int?) -> [UInt8]? {
        guard let user, let wording = Wording([form], values: values), let variant = UInt32(exactly: user) else {
            return nil
        }
        return wording.payload(variant)
    }
}

extension EnvelopeReading {
    /// Reads the values: those of all names in the texts for exactly the users of the audience.
    func values(
        at position: IndexedJSON.Position, for words: [Words], to audience: Audience
    ) throws(Rejection) -> NamedValues {
        guard case .users(let users) = audience else {
            throw Rejection(.badField, detail: "values: they need to.users, whose values they are")
        }
        guard json.kind(position) == .object else { throw wrongType(of: .values, at: position, expected: "an object") }
        let names = try names(in: words)
        let known = UserValues(of: users.sorted { $0.precedesInBytes($1) }, count: 0)
        var places = [IndexedJSON.Position](repeating: 0, count: known.users.count)
        var key = position + 1
        for _ in 0..<json.size(position) {
            let user = json.string(key) ?? ""
            guard let number = known.number(of: user) else {
                throw bad(at: "/values/\(shown(user))", "it is not among the users of the message")
            }
            guard places[number] == 0 else { throw bad(at: "/values/\(shown(user))", "it is given twice") }
            guard json.kind(key + 1) == .object else {
                throw bad(at: "/values/\(shown(user))", "it is \(json.kind(key + 1).name), not an object")
            }
            places[number] = key + 1
            key = json.next(key + 1)
        }
        if let number = places.firstIndex(of: 0) {
            throw bad(at: "/values/\(shown(known.users[number]))", "it is missing; each user of the message has values")
        }
        var values = UserValues(of: known.users, count: names.count)
        let spellings = names.map { Array($0.utf8) }
        for (number, place) in places.enumerated() {
            try add(place, named: spellings, of: known.users[number], to: &values)
        }
        return NamedValues(names: names, values: values)
    }

    /// Adds the values of one user.
    private func add(
        _ object: IndexedJSON.Position, named names: [[UInt8]], of user: String, to values: inout UserValues
    ) throws(Rejection) {
        var found = [IndexedJSON.Position](repeating: 0, count: names.count)
        var key = object + 1
        for _ in 0..<json.size(object) {
            let pointer = { "/values/\(shown(user))/\(shown(json.string(key) ?? ""))" }
            guard json.kind(key + 1).isString else {
                throw bad(at: pointer(), "it is \(json.kind(key + 1).name), not a string")
            }
            // Other names may be those of words that this message does not have.
            if let number = json.withUTF8(of: key, { name in names.firstIndex { name.equals($0) } }) {
                guard found[number] == 0 else { throw bad(at: pointer(), "it is given twice") }
                found[number] = key + 1
            }
            key = json.next(key + 1)
        }
        for (number, position) in found.enumerated() {
            guard position > 0 else {
                let name = String(decoding: names[number], as: UTF8.self)
                throw bad(
                    at: "/values/\(shown(user))/\(shown(name))", "it is missing, and the alert has {\(shown(name))}")
            }
            guard values.add(escaped(position)) else {
                throw Rejection(.badField, detail: "values: they are larger than any envelope")
            }
        }
    }

    /// Returns a string as it stands within quotation marks.
    private func escaped(_ position: IndexedJSON.Position) -> [UInt8] {
        if json.isPlainString(position) { return json.inner(position).copied }
        var bytes: [UInt8] = []
        json.withUTF8(of: position) { JSONText.appendEscaped($0.copied, to: &bytes) }
        return bytes
    }

    // MARK: Texts

    /// Returns the names in the texts of all words, in ascending order.
    private func names(in words: [Words]) throws(Rejection) -> [String] {
        var names: Set<String> = []
        for words in words {
            for text in texts(of: words.alert) {
                do throws(Rejection) {
                    for case .name(let name) in try Substitution.parts(of: json.withUTF8(of: text) { $0.copied }) {
                        names.insert(name)
                    }
                } catch {
                    throw bad(at: words.pointer, error.detail)
                }
            }
        }
        guard names.count <= UserValues.maxNames else {
            throw bad(at: "/alert", "it has \(names.count) names in braces; \(UserValues.maxNames) are allowed")
        }
        return names.sorted { $0.precedesInBytes($1) }
    }

    /// Returns the texts of an alert that may contain values: those that every push service can show.
    func texts(of alert: IndexedJSON.Position) -> [IndexedJSON.Position] {
        guard json.kind(alert) == .object else { return [alert] }
        return [json.member("title", of: alert), json.member("subtitle", of: alert), json.member("body", of: alert)]
            .compactMap(\.self)
    }

    /// Returns the rejection of an envelope with more values than the index stores, if the recipients have values.
    func tooManyValues() -> Rejection? {
        position(.values) == nil
            ? nil
            : Rejection(
                .tooMany,
                detail: "values: the envelope has more than \(JSONIndex.maxNodes) values; name fewer users")
    }

    private func bad(at pointer: String, _ problem: String) -> Rejection {
        Rejection(.badPayload, detail: "\(pointer): \(problem)")
    }
}
