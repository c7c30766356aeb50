package import PushModel
import PushText

/// JSON that is copied from an envelope in one form, so that equal meaning gives equal bytes: a client library that
/// reorders keys must not make a repeated envelope look like another one.
///
/// Members are sorted by their bytes, strings are escaped as little as possible, and numbers keep their spelling,
/// whatever their length.
package struct CanonicalJSON {
    private let json: IndexedJSON
    private let substitution: Substitution?
    package private(set) var bytes: [UInt8] = []
    private let maxLength: Int
    /// Whether the text was cut because it exceeds its limit by far.
    package private(set) var isTooLarge = false

    /// Creates a text from the plain fields of an envelope. If they contain values of the recipient, the places of
    /// these are marked.
    ///
    /// - Parameter limit: The largest length that is useful. A text that exceeds it moderately is still completed, so
    ///   that an error can give its length.
    package init(_ content: PlainContent, limit: Int) {
        json = content.json
        substitution = content.substitution
        maxLength = 16 * limit
    }

    /// Appends text that is not from the envelope, such as brackets.
    package mutating func append(_ text: StaticString) { bytes.append(text) }

    /// Appends a string that is not from the envelope, in quotation marks.
    package mutating func append(string text: String) { JSONText.appendQuoted(text, to: &bytes) }

    /// Appends a number that is not from the envelope.
    package mutating func append(number: Int64) { DecimalText.append(number, to: &bytes) }

    package mutating func append(key: String) {
        JSONText.appendQuoted(key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Appends a value of the envelope.
    ///
    /// - Parameter field: The plain field that has the value, for errors.
    package mutating func append(_ position: IndexedJSON.Position, of field: StaticString) throws(Rejection) {
        guard bytes.count <= maxLength else {
            isTooLarge = true
            return
        }
        if let substitution, substitution.texts.contains(position) {
            return try substitution.append(json.withUTF8(of: position) { $0.copied }, to: &bytes)
        }
        switch json.kind(position) {
        case .object:
            bytes.append(UInt8(ascii: "{"))
            var needsComma = false
            for member in try members(of: position, in: field) {
                if needsComma { bytes.append(UInt8(ascii: ",")) }
                needsComma = true
                append(key: member.key)
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

    package struct Member {
        package let key: String
        package let value: IndexedJSON.Position
    }

    /// Returns the members of an object, sorted by the bytes of their keys.
    ///
    /// - Throws: ``Rejection`` if a key occurs twice.
    package func members(
        of object: IndexedJSON.Position, in field: StaticString
    ) throws(Rejection) -> [Member] {
        var members: [(key: [UInt8], value: IndexedJSON.Position)] = []
        var position = object + 1
        for _ in 0..<json.size(object) {
            members.append((json.withUTF8(of: position) { $0.copied }, position + 1))
            position = json.next(position + 1)
        }
        members.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for (one, other) in zip(members, members.dropFirst()) where one.key == other.key {
            let name = PlainText.name(String(decoding: one.key, as: UTF8.self))
            throw Rejection(.badField, detail: "\(field): \"\(name)\" is given twice")
        }
        return members.map { Member(key: String(decoding: $0.key, as: UTF8.self), value: $0.value) }
    }
}
