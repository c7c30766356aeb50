/// The kind of a value. Whole numbers of any length are integers; numbers with a decimal point or an exponent are
/// fractions.
public enum JSONKind: UInt8, Sendable {
    case object, array, string, escapedString, integer, fraction, `true`, `false`, null

    @inlinable public var isString: Bool { self == .string || self == .escapedString }
    @inlinable public var isNumber: Bool { self == .integer || self == .fraction }
    @inlinable public var isBool: Bool { self == .true || self == .false }

    /// The name with its article, for messages.
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

/// A strictly parsed JSON text (RFC 8259): the bytes and a flat list of the positions of all values.
///
/// Strings and numbers are decoded on demand, so that parsing costs one allocation whatever the text contains. The
/// grammar allows duplicate keys: ``repeatedKey()`` finds them, and look-ups return the first.
package struct JSONDocument: Sendable {
    struct Node: Sendable {
        var kind: JSONKind
        var start: UInt32
        var end: UInt32
        /// The node after this one and everything in it.
        var next: UInt32
    }

    static let none = UInt32.max

    /// One value of a document. It is invalid in other documents.
    package struct Position: Hashable, Sendable {
        let index: UInt32
    }

    package static let maxDepth = JSONScanner.maxDepth

    package let bytes: [UInt8]
    let nodes: [Node]

    /// Parses all of `bytes`; `depthLimit` is at most ``maxDepth``. O(n).
    package init(
        _ bytes: [UInt8], depthLimit: Int = JSONDocument.maxDepth, lengthLimit: Int = 16 << 20
    ) throws(JSONError) {
        guard bytes.count <= lengthLimit else { throw JSONError(.tooLong, at: lengthLimit) }
        var error: JSONError?
        nodes = unsafe bytes.withUnsafeBufferPointer { buffer in
            var scanner = unsafe JSONScanner(buffer, keeps: true, depthLimit: depthLimit)
            if !scanner.scan() { error = scanner.error }
            return scanner.nodes
        }
        if let error { throw error }
        self.bytes = bytes
    }

    /// Whether the bytes are a JSON object. The check stores and allocates nothing.
    package static func isObject(_ bytes: [UInt8], depthLimit: Int = JSONDocument.maxDepth) -> Bool {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            var scanner = unsafe JSONScanner(buffer, keeps: false, depthLimit: depthLimit)
            return scanner.scan() && scanner.isObject
        }
    }

    package var root: Position { Position(index: 0) }

    package func kind(_ position: Position) -> JSONKind { nodes[Int(position.index)].kind }

    /// Returns the offset of the value's first byte, for messages.
    package func offset(_ position: Position) -> Int { Int(nodes[Int(position.index)].start) }

    /// Returns the source text of the value, including quotation marks and brackets.
    package func text(_ position: Position) -> ArraySlice<UInt8> {
        let node = nodes[Int(position.index)]
        return bytes[Int(node.start)..<Int(node.end)]
    }

    // MARK: Scalars

    /// Returns the string, or nil if the value is not a string.
    package func string(_ position: Position) -> String? {
        switch kind(position) {
        case .string: String(decoding: text(position).dropFirst().dropLast(), as: UTF8.self)
        case .escapedString: String(decoding: JSONText.unescaped(text(position).dropFirst().dropLast()), as: UTF8.self)
        default: nil
        }
    }

    package func isString(_ position: Position, equalTo word: StaticString) -> Bool {
        switch kind(position) {
        case .string:
            let text = text(position).dropFirst().dropLast()
            return text.count == word.utf8CodeUnitCount && word.withUTF8Buffer { unsafe $0.elementsEqual(text) }
        case .escapedString:
            return string(position) == word.description
        default:
            return false
        }
    }

    package func isString(_ position: Position, equalTo word: String) -> Bool {
        switch kind(position) {
        case .string: text(position).dropFirst().dropLast().elementsEqual(word.utf8)
        case .escapedString: string(position) == word
        default: false
        }
    }

    /// Returns the whole number, or nil if the value is not one or does not fit into 64 bits.
    package func integer(_ position: Position) -> Int64? {
        guard kind(position) == .integer else { return nil }
        let digits = text(position)
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

    /// Returns the number if it is whole, however it is written; nil if it is not, or does not fit into 64 bits.
    package func wholeNumber(_ position: Position) -> Int64? {
        kind(position) == .fraction ? JSONText.wholeNumber(Array(text(position))) : integer(position)
    }

    /// Returns any number as the nearest `Double`, or nil if the value is not a number or is not finite as a `Double`.
    package func double(_ position: Position) -> Double? {
        guard kind(position).isNumber else { return nil }
        let value = Double(String(decoding: text(position), as: UTF8.self))
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    package func bool(_ position: Position) -> Bool? {
        switch kind(position) {
        case .true: true
        case .false: false
        default: nil
        }
    }

    // MARK: Objects and arrays

    package struct Member {
        package let key: Position
        package let value: Position
    }

    /// Returns the members of an object in the order of the text; for other values there are none.
    package func members(_ position: Position) -> Members {
        let node = nodes[Int(position.index)]
        return Members(document: self, at: node.kind == .object ? position.index + 1 : node.next, end: node.next)
    }

    /// Returns the elements of an array; for other values there are none.
    package func elements(_ position: Position) -> Elements {
        let node = nodes[Int(position.index)]
        return Elements(document: self, at: node.kind == .array ? position.index + 1 : node.next, end: node.next)
    }

    package struct Members: Sequence, IteratorProtocol {
        let document: JSONDocument
        var at: UInt32
        let end: UInt32

        package mutating func next() -> Member? {
            guard at < end else { return nil }
            let value = at + 1
            defer { at = document.nodes[Int(value)].next }
            return Member(key: Position(index: at), value: Position(index: value))
        }
    }

    package struct Elements: Sequence, IteratorProtocol {
        let document: JSONDocument
        var at: UInt32
        let end: UInt32

        package mutating func next() -> Position? {
            guard at < end else { return nil }
            defer { at = document.nodes[Int(at)].next }
            return Position(index: at)
        }
    }

    /// Returns the value of the first member with that key. O(members).
    package func value(_ key: StaticString, in object: Position) -> Position? {
        for member in members(object) where isString(member.key, equalTo: key) { return member.value }
        return nil
    }
}
