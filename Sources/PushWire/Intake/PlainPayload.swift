import PushModel

/// A payload put together from the plain fields of an envelope: `aps` first, then the custom members.
///
/// Members are sorted by their bytes and strings escaped no more than must be, so that what means the same is the same
/// bytes: a library that shuffles its keys must not make an envelope that came before look like another. Numbers stay as
/// they are written, whatever their length.
struct PlainPayload {
    private let json: IndexedJSON
    private var bytes: [UInt8] = []
    private var isFirst = true
    private let most: Int
    /// It is cut, and longer than any payload may be.
    private(set) var isTooLarge = false

    init(_ json: IndexedJSON, limit: Int) {
        self.json = json
        // Somewhat more than allowed is finished, so that its length can be said.
        most = 16 * limit
    }

    mutating func begin() { bytes.append(contentsOf: #"{"aps":{"#.utf8) }

    mutating func endAps() { bytes.append(UInt8(ascii: "}")) }

    mutating func end() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// A member of `aps`.
    mutating func add(_ key: EnvelopeKey, _ place: IndexedJSON.Place) throws(Rejection) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        JSONText.appendQuoted(key.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        try append(place, of: key)
    }

    /// The members beside `aps`.
    mutating func addCustom(_ object: IndexedJSON.Place) throws(Rejection) {
        for member in try members(object, of: .custom) {
            let key = String(decoding: member.key, as: UTF8.self)
            guard !CustomKeys.reserved.contains(key) else {
                throw Rejection(.badField, "custom: \"\(key)\" is reserved; give another name")
            }
            bytes.append(UInt8(ascii: ","))
            JSONText.appendQuoted(key, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            try append(member.value, of: .custom)
        }
    }

    private mutating func append(_ place: IndexedJSON.Place, of field: EnvelopeKey) throws(Rejection) {
        guard bytes.count <= most else {
            isTooLarge = true
            return
        }
        switch json.kind(place) {
        case .object:
            bytes.append(UInt8(ascii: "{"))
            var needsComma = false
            for member in try members(place, of: field) {
                if needsComma { bytes.append(UInt8(ascii: ",")) }
                needsComma = true
                JSONText.appendQuoted(String(decoding: member.key, as: UTF8.self), to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                try append(member.value, of: field)
            }
            bytes.append(UInt8(ascii: "}"))
        case .array:
            // Of a longer one not all elements were kept; it is too long by far.
            guard json.size(place) <= Int(JSONIndex.mostElements) else {
                isTooLarge = true
                return
            }
            bytes.append(UInt8(ascii: "["))
            var element = place + 1
            for number in 0..<json.size(place) {
                if number > 0 { bytes.append(UInt8(ascii: ",")) }
                try append(element, of: field)
                element = json.next(element)
            }
            bytes.append(UInt8(ascii: "]"))
        case .escapedString:
            JSONText.appendQuoted(json.string(place) ?? "", to: &bytes)
        case .string, .integer, .fraction, .true, .false, .null:
            bytes.append(contentsOf: json.raw(place))
        }
    }

    private struct Member {
        let key: [UInt8]
        let value: IndexedJSON.Place
    }

    /// Sorted; refuses what is there twice.
    private func members(_ object: IndexedJSON.Place, of field: EnvelopeKey) throws(Rejection) -> [Member] {
        var members: [Member] = []
        var place = object + 1
        for _ in 0..<json.size(object) {
            members.append(Member(key: json.withUTF8(place) { Array($0) }, value: place + 1))
            place = json.next(place + 1)
        }
        members.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for (one, other) in zip(members, members.dropFirst()) where one.key == other.key {
            let name = PayloadRules.name(String(decoding: one.key, as: UTF8.self))
            throw Rejection(.badField, "\(field.name): \"\(name)\" is there twice")
        }
        return members
    }
}
