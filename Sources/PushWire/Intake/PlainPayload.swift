import PushModel

/// A payload built from the plain fields of an envelope: `aps` first, then the custom members.
///
/// Members are sorted by their bytes and strings are escaped as little as possible, so that equal meaning gives equal
/// bytes: a client library that reorders keys must not make a repeated envelope look like another one. Numbers keep
/// their spelling, whatever their length.
struct PlainPayload {
    private let json: IndexedJSON
    private var bytes: [UInt8] = []
    private var isFirst = true
    private let maxLength: Int
    /// Whether the payload was cut because it exceeds every limit.
    private(set) var isTooLarge = false

    init(_ json: IndexedJSON, limit: Int) {
        self.json = json
        // A payload that exceeds the limit moderately is still completed, so that the error can give its length.
        maxLength = 16 * limit
    }

    mutating func begin() { bytes.append(contentsOf: #"{"aps":{"#.utf8) }

    mutating func endAps() { bytes.append(UInt8(ascii: "}")) }

    mutating func end() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Appends a member of `aps`.
    mutating func add(_ key: EnvelopeKey, at position: IndexedJSON.Position) throws(Rejection) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        JSONText.appendQuoted(key.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        try append(position, of: key)
    }

    /// Appends the members beside `aps`.
    mutating func addCustom(_ object: IndexedJSON.Position) throws(Rejection) {
        for member in try members(object, of: .custom) {
            let key = String(decoding: member.key, as: UTF8.self)
            guard !CustomKeys.reserved.contains(key) else {
                throw Rejection(.badField, detail: "custom: \"\(key)\" is reserved; give another name")
            }
            bytes.append(UInt8(ascii: ","))
            JSONText.appendQuoted(key, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            try append(member.value, of: .custom)
        }
    }

    private mutating func append(_ position: IndexedJSON.Position, of field: EnvelopeKey) throws(Rejection) {
        guard bytes.count <= maxLength else {
            isTooLarge = true
            return
        }
        switch json.kind(position) {
        case .object:
            bytes.append(UInt8(ascii: "{"))
            var needsComma = false
            for member in try members(position, of: field) {
                if needsComma { bytes.append(UInt8(ascii: ",")) }
                needsComma = true
                JSONText.appendQuoted(String(decoding: member.key, as: UTF8.self), to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                try append(member.value, of: field)
            }
            bytes.append(UInt8(ascii: "}"))
        case .array:
            // The index did not store all elements of a longer array, which is far too long for a payload anyway.
            guard json.size(position) <= Int(JSONIndex.maxElements) else {
                isTooLarge = true
                return
            }
            bytes.append(UInt8(ascii: "["))
            var element = position + 1
            for number in 0..<json.size(position) {
                if number > 0 { bytes.append(UInt8(ascii: ",")) }
                try append(element, of: field)
                element = json.next(element)
            }
            bytes.append(UInt8(ascii: "]"))
        case .escapedString:
            JSONText.appendQuoted(json.string(position) ?? "", to: &bytes)
        case .string, .integer, .fraction, .true, .false, .null:
            bytes.append(contentsOf: json.raw(position))
        }
    }

    private struct Member {
        let key: [UInt8]
        let value: IndexedJSON.Position
    }

    /// Returns the members sorted by key.
    ///
    /// - Throws: ``Rejection`` if a key occurs twice.
    private func members(_ object: IndexedJSON.Position, of field: EnvelopeKey) throws(Rejection) -> [Member] {
        var members: [Member] = []
        var position = object + 1
        for _ in 0..<json.size(object) {
            members.append(Member(key: json.withUTF8(of: position) { $0.copied }, value: position + 1))
            position = json.next(position + 1)
        }
        members.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for (one, other) in zip(members, members.dropFirst()) where one.key == other.key {
            let name = PayloadRules.name(String(decoding: one.key, as: UTF8.self))
            throw Rejection(.badField, detail: "\(field.name): \"\(name)\" is given twice")
        }
        return members
    }
}
