/// What a value is. Whole numbers of any length are integers; what has a point or an exponent is a fraction.
package enum JSONKind: UInt8, Sendable {
    case object, array, string, escapedString, integer, fraction, `true`, `false`, null

    package var isString: Bool { self == .string || self == .escapedString }
    package var isNumber: Bool { self == .integer || self == .fraction }
    package var isBool: Bool { self == .true || self == .false }

    /// With its article, for messages.
    package var name: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .string, .escapedString: "a string"
        case .integer, .fraction: "a number"
        case .true, .false: "a boolean"
        case .null: "null"
        }
    }
}

/// JSON that was read strictly (RFC 8259): the bytes, and a flat list of where in them each value stands.
///
/// Strings and numbers stay bytes until somebody asks for them, so that reading costs one allocation however much is in
/// there. Repeated keys are grammatical: `repeatedKey` finds them, and look-ups take the first.
package struct JSONDocument: Sendable {
    struct Node: Sendable {
        var kind: JSONKind
        var start: UInt32
        var end: UInt32
        /// The node behind this one and everything in it.
        var next: UInt32
    }

    static let none = UInt32.max

    /// One value of a document. Of no use with another document.
    package struct Place: Hashable, Sendable {
        let index: UInt32
    }

    package static let maximumDepth = JSONScanner.maximumDepth

    package let bytes: [UInt8]
    let nodes: [Node]

    /// Reads the whole of `bytes`; `depthLimit` is at most `maximumDepth`. O(n).
    package init(
        _ bytes: [UInt8], depthLimit: Int = JSONDocument.maximumDepth, lengthLimit: Int = 16 << 20
    ) throws(JSONError) {
        guard bytes.count <= lengthLimit else { throw JSONError(.tooLong, at: lengthLimit) }
        var error: JSONError?
        nodes = bytes.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer, keeps: true, depthLimit: depthLimit)
            if !scanner.scan() { error = scanner.error }
            return scanner.nodes
        }
        if let error { throw error }
        self.bytes = bytes
    }

    /// Whether the bytes are JSON and an object. Nothing is kept and nothing allocated.
    package static func isObject(_ bytes: [UInt8], depthLimit: Int = JSONDocument.maximumDepth) -> Bool {
        bytes.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer, keeps: false, depthLimit: depthLimit)
            return scanner.scan() && scanner.isObject
        }
    }

    package var root: Place { Place(index: 0) }

    package func kind(_ place: Place) -> JSONKind { nodes[Int(place.index)].kind }

    /// The first byte of the value, for messages.
    package func offset(_ place: Place) -> Int { Int(nodes[Int(place.index)].start) }

    /// The value as it is written, quotation marks and brackets included.
    package func text(_ place: Place) -> ArraySlice<UInt8> {
        let node = nodes[Int(place.index)]
        return bytes[Int(node.start)..<Int(node.end)]
    }

    // MARK: Scalars

    /// Nil unless it is a string.
    package func string(_ place: Place) -> String? {
        switch kind(place) {
        case .string: String(decoding: text(place).dropFirst().dropLast(), as: UTF8.self)
        case .escapedString: String(decoding: JSONText.unescaped(text(place).dropFirst().dropLast()), as: UTF8.self)
        default: nil
        }
    }

    package func isString(_ place: Place, _ word: StaticString) -> Bool {
        switch kind(place) {
        case .string:
            let text = text(place).dropFirst().dropLast()
            return text.count == word.utf8CodeUnitCount && word.withUTF8Buffer { $0.elementsEqual(text) }
        case .escapedString:
            return string(place) == word.description
        default:
            return false
        }
    }

    /// Nil unless it is a whole number that 64 bits hold.
    package func integer(_ place: Place) -> Int64? {
        guard kind(place) == .integer else { return nil }
        let digits = text(place)
        let isNegative = digits.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for digit in digits.dropFirst(isNegative ? 1 : 0) {
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let units = Int64(digit - UInt8(ascii: "0"))
            let (sum, carried) =
                isNegative ? tens.subtractingReportingOverflow(units) : tens.addingReportingOverflow(units)
            if overflow || carried { return nil }
            value = sum
        }
        return value
    }

    /// Any number, as near as a `Double` comes to it; nil unless it is a number that is finite there.
    package func double(_ place: Place) -> Double? {
        guard kind(place).isNumber else { return nil }
        let value = Double(String(decoding: text(place), as: UTF8.self))
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    package func bool(_ place: Place) -> Bool? {
        switch kind(place) {
        case .true: true
        case .false: false
        default: nil
        }
    }

    // MARK: Objects and arrays

    package struct Member {
        package let key: Place
        package let value: Place
    }

    /// The members of an object in the order of the text; none of anything else.
    package func members(_ place: Place) -> Members {
        let node = nodes[Int(place.index)]
        return Members(document: self, at: node.kind == .object ? place.index + 1 : node.next, end: node.next)
    }

    /// The elements of an array; none of anything else.
    package func elements(_ place: Place) -> Elements {
        let node = nodes[Int(place.index)]
        return Elements(document: self, at: node.kind == .array ? place.index + 1 : node.next, end: node.next)
    }

    package struct Members: Sequence, IteratorProtocol {
        let document: JSONDocument
        var at: UInt32
        let end: UInt32

        package mutating func next() -> Member? {
            guard at < end else { return nil }
            let value = at + 1
            defer { at = document.nodes[Int(value)].next }
            return Member(key: Place(index: at), value: Place(index: value))
        }
    }

    package struct Elements: Sequence, IteratorProtocol {
        let document: JSONDocument
        var at: UInt32
        let end: UInt32

        package mutating func next() -> Place? {
            guard at < end else { return nil }
            defer { at = document.nodes[Int(at)].next }
            return Place(index: at)
        }
    }

    /// The first member of that name. O(members).
    package func value(_ key: StaticString, in object: Place) -> Place? {
        for member in members(object) where isString(member.key, key) { return member.value }
        return nil
    }
}
