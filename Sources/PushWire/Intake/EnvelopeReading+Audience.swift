import PushModel

extension EnvelopeReading {
    private enum Kind: Int, CaseIterable {
        case tokens, devices, users, tags, all
    }

    private static let kinds = WordTable(["tokens", "devices", "users", "tags", "all"])
    private static let longestUser = 255

    func audience() throws(Rejection) -> Audience {
        guard let to = place(.to) else { throw Rejection(.missingField, "to is missing") }
        guard json.kind(to) == .object else { throw bad("to is \(json.kind(to).name), not an object") }
        guard json.size(to) == 1 else {
            throw bad("to must have exactly one of tokens, devices, users, tags and all; it has \(json.size(to)) keys")
        }
        guard let kind = json.withUTF8(to + 1, { Self.kinds.number(of: $0) }).flatMap(Kind.init(rawValue:)) else {
            let key = json.string(to + 1) ?? ""
            throw bad(
                "to has no key \"\(PayloadRules.name(key))\""
                    + (Self.kinds.nearest(to: key).map { "; did you mean \($0)?" } ?? ""))
        }
        let value = to + 2
        switch kind {
        case .tokens: return .tokens(try tokens(try list("tokens", value)))
        case .devices: return .devices(try devices(try list("devices", value)))
        case .users: return .users(try users(try list("users", value)))
        case .tags:
            var tags = TagReading(json)
            return .tags(try tags.expression(value))
        case .all:
            guard json.kind(value) == .true else { throw bad("all must be true, or be omitted") }
            return .everyone
        }
    }

    private func bad(_ detail: String) -> Rejection { Rejection(.badAudience, detail) }

    /// Checks that the value is an array with a valid number of elements, before anything is allocated for them.
    private func list(_ name: String, _ place: IndexedJSON.Place) throws(Rejection) -> IndexedJSON.Place {
        guard json.kind(place) == .array else { throw bad("\(name) is \(json.kind(place).name), not an array") }
        let count = json.size(place)
        guard count > 0 else { throw bad("\(name) is empty") }
        guard count <= Audience.maximumNamed else { throw tooMany(name, count) }
        return place
    }

    private func tooMany(_ name: String, _ count: Int) -> Rejection {
        Rejection(.tooMany, "\(count) \(name); one message names at most \(Audience.maximumNamed)")
    }

    /// Returns the rejection of an envelope with more values than the index stores, if its audience is the reason.
    func tooManyNamed() -> Rejection? {
        guard let to = place(.to), json.kind(to) == .object, json.size(to) > 0, to + 2 < json.count,
            json.kind(to + 2) == .array, json.size(to + 2) > Audience.maximumNamed
        else { return nil }
        return tooMany("names", json.size(to + 2))
    }

    private func tokens(_ list: IndexedJSON.Place) throws(Rejection) -> [DeviceToken] {
        let count = json.size(list)
        var tokens: [DeviceToken] = []
        tokens.reserveCapacity(count)
        var seen = FirstOnes(count)
        var place = list + 1
        for position in 1...count {
            let token =
                json.isPlainString(place)
                ? DeviceToken(hexBytes: json.inner(place))
                : json.kind(place).isString ? json.withUTF8(place) { DeviceToken(hexBytes: $0) } : nil
            guard let token else { throw badToken(place, position, of: count) }
            if count == 1 || seen.insert(token.tableHash(seed: seen.seed), tokens.count, { tokens[$0] == token }) {
                tokens.append(token)
            }
            place += 1
        }
        return tokens
    }

    /// Returns a rejection with the position of the token, never with its content.
    private func badToken(_ place: IndexedJSON.Place, _ position: Int, of count: Int) -> Rejection {
        let problem: String
        if json.kind(place).isString {
            let length = json.withUTF8(place) { $0.count }
            problem =
                length == 0
                ? "is empty"
                : length > 2 * DeviceToken.maximumLength
                    ? "has \(length) digits; \(2 * DeviceToken.maximumLength) are allowed"
                    : length.isMultiple(of: 2) ? "is not hexadecimal" : "has an odd number of digits"
        } else {
            problem = "is \(json.kind(place).name), not a string"
        }
        return Rejection(.badToken, "token \(position) of \(count) \(problem)")
    }

    private func devices(_ list: IndexedJSON.Place) throws(Rejection) -> [DeviceID] {
        let count = json.size(list)
        var devices: [DeviceID] = []
        devices.reserveCapacity(count)
        var seen = FirstOnes(count)
        var place = list + 1
        for position in 1...count {
            guard json.kind(place).isString, let device = json.withUTF8(place, { DeviceID(hexBytes: $0) }) else {
                throw bad("device \(position) of \(count) is not 32 lower-case hexadecimal digits")
            }
            if seen.insert(device.tableHash(seed: seen.seed), devices.count, { devices[$0] == device }) {
                devices.append(device)
            }
            place += 1
        }
        return devices
    }

    private func users(_ list: IndexedJSON.Place) throws(Rejection) -> [String] {
        let count = json.size(list)
        var users: [String] = []
        users.reserveCapacity(count)
        var seen = FirstOnes(count)
        var place = list + 1
        for position in 1...count {
            guard let user = json.string(place) else {
                throw bad("user \(position) of \(count) is \(json.kind(place).name), not a string")
            }
            guard (1...Self.longestUser).contains(user.utf8.count) else {
                throw bad(
                    "user \(position) of \(count) is \(user.utf8.count) bytes; 1 to \(Self.longestUser) are allowed")
            }
            // Bytes are compared: two Unicode spellings of one letter are two users.
            let hash = json.withUTF8(place) { bytes in
                var hasher = Hasher()
                hasher.combine(bytes: bytes)
                return UInt64(bitPattern: Int64(hasher.finalize()))
            }
            if seen.insert(hash, users.count, { users[$0].utf8.elementsEqual(user.utf8) }) { users.append(user) }
            place += 1
        }
        return users
    }
}

/// A set that detects duplicates by hashes that the producer cannot predict.
private struct FirstOnes {
    let seed: UInt64
    /// The numbers of the elements plus one, with 0 for an empty slot. At least half of the slots are empty.
    private var slots: [UInt32]

    private static let processSeed = UInt64.random(in: .min ... .max)

    init(_ count: Int) {
        seed = Self.processSeed
        guard count > 1 else {
            slots = []
            return
        }
        slots = [UInt32](repeating: 0, count: 1 << (Int.bitWidth - (2 * count - 1).leadingZeroBitCount))
    }

    /// Whether the element is new, in which case it is stored as `number`. `isSame` compares it with a stored number.
    @inline(__always)
    mutating func insert(_ hash: UInt64, _ number: Int, _ isSame: (Int) -> Bool) -> Bool {
        guard !slots.isEmpty else { return true }
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            if isSame(Int(slots[slot]) - 1) { return false }
            slot = (slot + 1) & mask
        }
        slots[slot] = UInt32(number + 1)
        return true
    }
}
