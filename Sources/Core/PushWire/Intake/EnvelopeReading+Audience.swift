import PushModel
import PushText

extension EnvelopeReading {
    private enum Kind: Int, CaseIterable {
        case tokens, devices, users, tags, all, activities
    }

    private static let kinds = WordTable(["tokens", "devices", "users", "tags", "all", "activities"])
    private static let maxUserLength = 255

    func audience(for codec: any ServiceCodec) throws(Rejection) -> Audience {
        guard let to = position(.to) else { throw Rejection(.missingField, detail: "to is missing") }
        guard json.kind(to) == .object else {
            let isAll = json.kind(to).isString && json.string(to) == "all"
            throw bad(
                "to is \(json.kind(to).name), not an object" + (isAll ? "; for all devices, give {\"all\": true}" : ""))
        }
        guard json.size(to) == 1 else {
            throw bad(
                "to must have exactly one of tokens, devices, users, tags, all and activities; it has "
                    + "\(json.size(to)) keys")
        }
        guard let kind = json.withUTF8(of: to + 1, { Self.kinds.number(of: $0) }).flatMap(Kind.init(rawValue:)) else {
            let key = json.string(to + 1) ?? ""
            throw bad(
                "to has no key \"\(PlainText.name(key))\""
                    + (Self.kinds.nearest(to: key).map { "; did you mean \($0)?" } ?? ""))
        }
        let value = to + 2
        switch kind {
        case .tokens: return .tokens(try tokens(try list("tokens", at: value), of: codec))
        case .devices: return .devices(try devices(try list("devices", at: value)))
        case .users: return .users(try users(try list("users", at: value)))
        case .tags:
            var tags = TagReading(json)
            return .tags(try tags.expression(value))
        case .all:
            guard json.kind(value) == .true else { throw bad("all must be true, or be omitted") }
            return .everyone
        case .activities: return .activities(try activities(try list("activities", at: value)))
        }
    }

    private func bad(_ detail: String) -> Rejection { Rejection(.badAudience, detail: detail) }

    /// Checks that the value is an array with a valid number of elements, before anything is allocated for them.
    private func list(_ name: String, at position: IndexedJSON.Position) throws(Rejection) -> IndexedJSON.Position {
        guard json.kind(position) == .array else { throw bad("\(name) is \(json.kind(position).name), not an array") }
        let count = json.size(position)
        guard count > 0 else { throw bad("\(name) is empty") }
        guard count <= Audience.maxNames else { throw tooMany(name, count: count) }
        return position
    }

    private func tooMany(_ name: String, count: Int) -> Rejection {
        Rejection(.tooMany, detail: "\(count) \(name); one message names at most \(Audience.maxNames)")
    }

    /// Returns the rejection of an envelope with more values than the index stores, if its audience is the reason.
    func tooManyNamed() -> Rejection? {
        guard let to = position(.to), json.kind(to) == .object, json.size(to) > 0, to + 2 < json.count,
            json.kind(to + 2) == .array, json.size(to + 2) > Audience.maxNames
        else { return nil }
        return tooMany("names", count: json.size(to + 2))
    }

    private func tokens(
        _ list: IndexedJSON.Position, of codec: any ServiceCodec
    ) throws(Rejection) -> [Address] {
        let count = json.size(list)
        var tokens: [Address] = []
        tokens.reserveCapacity(count)
        var seen = SeenElements(capacity: count)
        var position = list + 1
        for number in 1...count {
            let token: Address
            do throws(AddressFault) {
                token = try address(at: position, of: codec)
            } catch {
                throw Rejection(.badToken, detail: "token \(number) of \(count) \(error.problem)")
            }
            if count == 1
                || seen.insert(tokens.count, hash: token.tableHash(seed: seen.seed), isSame: { tokens[$0] == token })
            {
                tokens.append(token)
            }
            position = json.next(position)
        }
        return tokens
    }

    private func address(
        at position: IndexedJSON.Position, of codec: any ServiceCodec
    ) throws(AddressFault) -> Address {
        if json.isPlainString(position) { return try codec.address(json.inner(position)) }
        if json.kind(position) == .object { return try codec.address(object: json.raw(position)) }
        guard json.kind(position).isString else {
            throw AddressFault("is \(json.kind(position).name), not a string")
        }
        return try json.withUTF8(of: position) { text in
            Result { () throws(AddressFault) in try codec.address(text) }
        }.get()
    }

    private func devices(_ list: IndexedJSON.Position) throws(Rejection) -> [DeviceID] {
        let count = json.size(list)
        var devices: [DeviceID] = []
        devices.reserveCapacity(count)
        var seen = SeenElements(capacity: count)
        var position = list + 1
        for number in 1...count {
            guard json.kind(position).isString,
                let device = json.withUTF8(of: position, { unsafe DeviceID(hexBytes: $0.bytes) })
            else {
                throw bad("device \(number) of \(count) is not 32 lower-case hexadecimal digits")
            }
            if seen.insert(devices.count, hash: device.tableHash(seed: seen.seed), isSame: { devices[$0] == device }) {
                devices.append(device)
            }
            position += 1
        }
        return devices
    }

    private func activities(_ list: IndexedJSON.Position) throws(Rejection) -> [String] {
        guard json.size(list) <= Audience.maxActivities else {
            throw Rejection(
                .tooMany,
                detail: "\(json.size(list)) activities; one message names at most \(Audience.maxActivities)")
        }
        return try names(list, of: "activity", limit: ActivityPart.maxNameLength)
    }

    private func users(_ list: IndexedJSON.Position) throws(Rejection) -> [String] {
        let users = try names(list, of: "user", limit: Self.maxUserLength)
        guard !users.contains(where: { DotSteps.occur(in: $0.utf8) }) else {
            throw bad("a user has a step . or .. of a path, which no registered user has")
        }
        return users
    }

    private func names(
        _ list: IndexedJSON.Position, of what: String, limit: Int
    ) throws(Rejection) -> [String] {
        let count = json.size(list)
        var users: [String] = []
        users.reserveCapacity(count)
        var seen = SeenElements(capacity: count)
        var position = list + 1
        for number in 1...count {
            guard let user = json.string(position) else {
                throw bad("\(what) \(number) of \(count) is \(json.kind(position).name), not a string")
            }
            guard (1...limit).contains(user.utf8.count) else {
                throw bad("\(what) \(number) of \(count) is \(user.utf8.count) bytes; 1 to \(limit) are allowed")
            }
            guard !ControlCharacters.occur(in: user.utf8) else {
                throw bad("\(what) \(number) of \(count) has a control character, which no registered \(what) has")
            }
            // Bytes are compared: two Unicode spellings of one letter are two users.
            let hash = json.withUTF8(of: position) { text in
                var hasher = Hasher()
                unsafe hasher.combine(bytes: text.bytes)
                return UInt64(bitPattern: Int64(hasher.finalize()))
            }
            if seen.insert(users.count, hash: hash, isSame: { users[$0].utf8.elementsEqual(user.utf8) }) {
                users.append(user)
            }
            position += 1
        }
        return users
    }
}

/// A set that detects duplicates by hashes that the producer cannot predict.
private struct SeenElements {
    let seed: UInt64
    /// The numbers of the elements plus one, with 0 for an empty slot. At least half of the slots are empty.
    private var slots: [UInt32]

    private static let processSeed = UInt64.random(in: .min ... .max)

    init(capacity count: Int) {
        seed = Self.processSeed
        guard count > 1 else {
            slots = []
            return
        }
        slots = [UInt32](repeating: 0, count: 1 << (Int.bitWidth - (2 * count - 1).leadingZeroBitCount))
    }

    /// Whether the element is new, in which case it is stored as `number`. `isSame` compares it with a stored number.
    @inline(__always)
    mutating func insert(_ number: Int, hash: UInt64, isSame: (Int) -> Bool) -> Bool {
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
