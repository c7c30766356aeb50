/// Header fields in order. Names are compared without regard to case. A name may occur more than once.
///
/// The names and values are ranges of one array of bytes; the fields of a request share the array with its head.
package struct HTTP1Headers: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Field: Equatable, Sendable {
        package let name: String
        package let value: String
    }

    /// A field as ranges of the bytes.
    struct Slot: Sendable {
        let name: Range<Int>
        let value: Range<Int>
    }

    private(set) var bytes: [UInt8] = []
    private(set) var slots: [Slot] = []
    /// Whether the fields were checked as those of an answer.
    private(set) var areChecked = false

    package init() {}

    /// Creates the fields of a head whose bytes were validated.
    init(_ slots: [Slot], in bytes: [UInt8]) {
        self.bytes = bytes
        self.slots = slots
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        slots.reserveCapacity(elements.count)
        for (name, value) in elements { add(name, value: value) }
    }

    package mutating func add(_ name: String, value: String) {
        areChecked = false
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let middle = bytes.count
        bytes.append(contentsOf: value.utf8)
        slots.append(Slot(name: start..<middle, value: middle..<bytes.count))
    }

    /// Returns the same fields, checked once for all answers that have them.
    package func checkedForAnswers() throws(HTTP1Error) -> HTTP1Headers {
        try HTTP1AnswerHead.check(self)
        var result = self
        result.areChecked = true
        return result
    }

    package var isEmpty: Bool { slots.isEmpty }

    /// All fields as text.
    package var fields: [Field] {
        slots.map { Field(name: text($0.name), value: text($0.value)) }
    }

    /// The first value of this name. Use ``all(_:)`` if further values matter.
    package subscript(name: String) -> String? {
        slots.first { has($0, name: name) }.map { text($0.value) }
    }

    package func all(_ name: String) -> [String] {
        var values: [String] = []
        for slot in slots where has(slot, name: name) { values.append(text(slot.value)) }
        return values
    }

    /// Returns the bytes of the first value of this name, as they were sent, without the spaces around them. Copies
    /// nothing.
    package func bytes(of name: String) -> ArraySlice<UInt8>? {
        slots.first { has($0, name: name) }.map { bytes[$0.value] }
    }

    package func has(_ name: String) -> Bool { slots.contains { has($0, name: name) } }

    /// Returns whether there is more than one field of this name.
    package func isRepeated(_ name: String) -> Bool {
        var count = 0
        for slot in slots where has(slot, name: name) { count += 1 }
        return count > 1
    }

    package static func == (left: HTTP1Headers, right: HTTP1Headers) -> Bool {
        guard left.slots.count == right.slots.count else { return false }
        return zip(left.slots, right.slots).allSatisfy {
            left.bytes[$0.name] == right.bytes[$1.name] && left.bytes[$0.value] == right.bytes[$1.value]
        }
    }

    func has(_ slot: Slot, name: String) -> Bool {
        guard slot.name.count == name.utf8.count else { return false }
        var index = slot.name.lowerBound
        for byte in name.utf8 {
            if lowercase(bytes[index]) != lowercase(byte) { return false }
            index += 1
        }
        return true
    }

    func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }
}

extension StringProtocol {
}

@inline(__always)
func lowercase(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
}

/// Returns whether the byte may occur in a name or method (RFC 9110, section 5.6.2).
@inline(__always)
func isTokenByte(_ byte: UInt8) -> Bool {
    // One bit for each byte of ASCII: digits and !#$%&'*+-. in the first half, letters and ^_`|~ in the second.
    let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
    return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
}

/// Returns whether the byte may occur in a field value: visible characters, spaces, tabs and bytes above ASCII, but no
/// other control characters (RFC 9110, section 5.5).
@inline(__always)
func isFieldValueByte(_ byte: UInt8) -> Bool {
    byte >= 0x20 ? byte != 0x7f : byte == 0x09
}
