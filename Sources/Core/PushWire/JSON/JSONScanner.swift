/// A strict JSON parser according to RFC 8259, in one pass and without recursion. It either records the values as a
/// flat list of nodes, or only validates and allocates nothing.
@safe
struct JSONScanner {
    /// The largest number of open brackets. A bit for each of them tells objects from arrays.
    static let maxDepth = 64

    private let bytes: UnsafeBufferPointer<UInt8>
    private let keeps: Bool
    private let depthLimit: Int
    private var at = 0
    private(set) var nodes: [JSONDocument.Node] = []
    private(set) var error: JSONError?
    private(set) var isObject = false

    /// - Important: The scanner must not outlive `bytes`.
    init(_ bytes: UnsafeBufferPointer<UInt8>, keeps: Bool, depthLimit: Int) {
        unsafe self.bytes = bytes
        self.keeps = keeps
        self.depthLimit = min(depthLimit, Self.maxDepth)
    }

    /// Scans the whole text. Returns false if it is not JSON, with the reason in ``error``.
    mutating func scan() -> Bool {
        guard count < Int(UInt32.max) else { return fail(.tooLong, at: 0) }
        if byte(at: 0) == 0xef, byte(at: 1) == 0xbb, byte(at: 2) == 0xbf { return fail(.byteOrderMark, at: 0) }
        // A node usually takes a dozen or more bytes of text.
        if keeps { nodes.reserveCapacity(4 + count / 10) }
        skipSpace()
        guard let first = peek() else { return fail(.empty, at: at) }
        isObject = first == UInt8(ascii: "{")
        guard scanValues() else { return false }
        skipSpace()
        return at == count || fail(.trailingBytes, at: at)
    }

    /// The arrays and objects around the next value.
    private struct Nesting {
        /// A bit for each, the innermost last: whether it is an object.
        var objects: UInt64 = 0
        var depth = 0
        var container = JSONDocument.none

        var isInObject: Bool { objects & 1 == 1 }
    }

    private enum Follow {
        case value, end, failure
    }

    /// Scans one value and everything in it.
    private mutating func scanValues() -> Bool {
        var nesting = Nesting()
        var expectsKey = false
        while true {
            if expectsKey {
                guard scanKey() else { return false }
                expectsKey = false
            }
            guard let byte = peek() else { return fail(.unexpectedEnd, at: at) }
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                guard nesting.depth < depthLimit else { return fail(.tooDeep, at: at) }
                let isObject = byte == UInt8(ascii: "{")
                let node = open(isObject ? .object : .array, in: nesting.container)
                at += 1
                skipSpace()
                if peek() == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    at += 1
                    close(node)
                } else {
                    nesting.depth += 1
                    nesting.objects = nesting.objects << 1 | (isObject ? 1 : 0)
                    nesting.container = node
                    expectsKey = isObject
                    continue
                }
            } else {
                guard scanScalar(byte) else { return false }
            }
            switch scanEnds(of: &nesting) {
            case .value: expectsKey = nesting.isInObject
            case .end: return true
            case .failure: return false
            }
        }
    }

    /// Scans what follows a complete value: closing brackets, and a comma before a further value.
    @inline(__always)
    private mutating func scanEnds(of nesting: inout Nesting) -> Follow {
        while nesting.depth > 0 {
            skipSpace()
            guard let next = peek() else {
                _ = fail(.unexpectedEnd, at: at)
                return .failure
            }
            if next == UInt8(ascii: ",") {
                at += 1
                skipSpace()
                return .value
            }
            guard next == (nesting.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                _ = fail(.expectedCommaOrEnd, at: at)
                return .failure
            }
            at += 1
            nesting.container = close(nesting.container)
            nesting.objects >>= 1
            nesting.depth -= 1
        }
        return .end
    }

    private mutating func scanKey() -> Bool {
        guard let byte = peek() else { return fail(.unexpectedEnd, at: at) }
        guard byte == UInt8(ascii: "\"") else { return fail(.expectedKey, at: at) }
        guard scanString() else { return false }
        skipSpace()
        guard let colon = peek() else { return fail(.unexpectedEnd, at: at) }
        guard colon == UInt8(ascii: ":") else { return fail(.expectedColon, at: at) }
        at += 1
        skipSpace()
        return true
    }

    private mutating func scanScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""): scanString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): scanNumber()
        case UInt8(ascii: "t"): scanLiteral("true", as: .true)
        case UInt8(ascii: "f"): scanLiteral("false", as: .false)
        case UInt8(ascii: "n"): scanLiteral("null", as: .null)
        default: fail(.unexpectedByte, at: at)
        }
    }

    private mutating func scanLiteral(_ word: StaticString, as kind: JSONKind) -> Bool {
        let start = at
        for index in 0..<word.utf8CodeUnitCount {
            guard let byte = peek() else { return fail(.unexpectedEnd, at: at) }
            guard unsafe byte == word.utf8Start[index] else { return fail(.badLiteral, at: start) }
            at += 1
        }
        add(kind, from: start)
        return true
    }

    private mutating func scanNumber() -> Bool {
        let start = at
        var isInteger = true
        if peek() == UInt8(ascii: "-") { at += 1 }
        if peek() == UInt8(ascii: "0") {
            at += 1
        } else {
            guard skipDigits() else { return false }
        }
        if peek() == UInt8(ascii: ".") {
            isInteger = false
            at += 1
            guard skipDigits() else { return false }
        }
        if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            at += 1
            if let sign = peek(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { at += 1 }
            guard skipDigits() else { return false }
        }
        // `01` and `1x` are invalid as a whole, rather than a number followed by something.
        if let next = peek(), Self.isWordByte(next) { return fail(.badNumber, at: start) }
        add(isInteger ? .integer : .fraction, from: start)
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = at
        while let byte = peek(), byte &- UInt8(ascii: "0") < 10 { at += 1 }
        if at > start { return true }
        return at == count ? fail(.unexpectedEnd, at: at) : fail(.badNumber, at: at)
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    // MARK: Strings

    private mutating func scanString() -> Bool {
        let start = at
        var hasEscapes = false
        at += 1
        while true {
            skipPlain()
            guard let byte = peek() else { break }
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                add(hasEscapes ? .escapedString : .string, from: start)
                return true
            case UInt8(ascii: "\\"):
                hasEscapes = true
                guard scanEscape() else { return false }
            case 0..<0x20:
                return fail(.controlCharacter, at: at)
            case 0x20..<0x80:
                at += 1
            default:
                guard scanSequence(byte) else { return false }
            }
        }
        return fail(.unexpectedEnd, at: at)
    }

    /// Skips ordinary characters, eight at a time; most of a payload consists of them.
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var index = at
        while index + 8 <= count {
            let word = word(at: index)
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5c)
            // The top bit of each byte that is a quotation mark, a backslash, a control character, or not ASCII. A
            // borrow can set wrong bits only after the first such byte, and only the first one counts.
            let special =
                (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | ((word &- ones &* 0x20) & ~word)
                    | word) & (ones &* 0x80)
            if special != 0 {
                at = index + special.trailingZeroBitCount / 8
                return
            }
            index += 8
        }
        while let byte = byte(at: index), byte >= 0x20, byte < 0x80, byte != 0x22, byte != 0x5c { index += 1 }
        at = index
    }

    private mutating func scanEscape() -> Bool {
        let start = at
        guard let mark = byte(at: at + 1) else { return fail(.unexpectedEnd, at: count) }
        switch mark {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 2
            return true
        case UInt8(ascii: "u"):
            guard let unit = scanUnit() else { return false }
            guard (0xd800..<0xe000).contains(unit) else { return true }
            // The grammar allows an unpaired surrogate, but no device can show such a string.
            guard unit < 0xdc00 else { return fail(.loneSurrogate, at: start) }
            guard let backslash = peek() else { return fail(.unexpectedEnd, at: at) }
            guard backslash == UInt8(ascii: "\\") else { return fail(.loneSurrogate, at: start) }
            guard let mark = byte(at: at + 1) else { return fail(.unexpectedEnd, at: count) }
            guard mark == UInt8(ascii: "u") else { return fail(.loneSurrogate, at: start) }
            guard let low = scanUnit() else { return false }
            return (0xdc00..<0xe000).contains(low) || fail(.loneSurrogate, at: start)
        default:
            return fail(.badEscape, at: start)
        }
    }

    /// Scans the four digits of a `\u` escape.
    private mutating func scanUnit() -> UInt16? {
        let start = at
        at += 2
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek() else {
                _ = fail(.unexpectedEnd, at: at)
                return nil
            }
            guard let digit = JSONText.hexDigit(byte) else {
                _ = fail(.badEscape, at: start)
                return nil
            }
            unit = unit << 4 | UInt16(digit)
            at += 1
        }
        return unit
    }

    /// Scans one character of two to four bytes, well-formed according to Unicode's table 3-7.
    private mutating func scanSequence(_ first: UInt8) -> Bool {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xbf
        switch first {
        case 0xc2...0xdf: length = 1
        case 0xe0: (length, second) = (2, 0xa0...0xbf)
        case 0xed: (length, second) = (2, 0x80...0x9f)
        case 0xe1...0xef: length = 2
        case 0xf0: (length, second) = (3, 0x90...0xbf)
        case 0xf1...0xf3: length = 3
        case 0xf4: (length, second) = (3, 0x80...0x8f)
        default: return fail(.badUTF8, at: at)
        }
        for offset in 1...length {
            guard let byte = byte(at: at + offset) else { return fail(.unexpectedEnd, at: count) }
            guard offset == 1 ? second.contains(byte) : byte & 0xc0 == 0x80 else { return fail(.badUTF8, at: at) }
        }
        at += length + 1
        return true
    }

    // MARK: Nodes

    private mutating func add(_ kind: JSONKind, from start: Int) {
        guard keeps else { return }
        nodes.append(.init(kind: kind, start: UInt32(start), end: UInt32(at), next: UInt32(nodes.count + 1)))
    }

    /// Adds a node for an opening bracket. Until it closes, its `next` is the enclosing bracket, which replaces a
    /// separate stack.
    private mutating func open(_ kind: JSONKind, in container: UInt32) -> UInt32 {
        guard keeps else { return container }
        nodes.append(.init(kind: kind, start: UInt32(at), end: 0, next: container))
        return UInt32(nodes.count - 1)
    }

    @discardableResult
    private mutating func close(_ node: UInt32) -> UInt32 {
        guard keeps else { return node }
        let container = nodes[Int(node)].next
        nodes[Int(node)].end = UInt32(at)
        nodes[Int(node)].next = UInt32(nodes.count)
        return container
    }

    // MARK: Bytes

    private var count: Int { unsafe bytes.count }

    private func peek() -> UInt8? { byte(at: at) }

    /// Returns a byte; nil at and after the end. No offset is negative.
    @inline(__always)
    private func byte(at offset: Int) -> UInt8? { offset < count ? unsafe bytes[offset] : nil }

    /// Returns the eight bytes at `offset`, which must exist, as a little-endian word.
    @inline(__always)
    private func word(at offset: Int) -> UInt64 {
        unsafe UInt64(
            littleEndian: UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    private mutating func skipSpace() {
        while let byte = peek() {
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return }
            at += 1
        }
    }

    private mutating func fail(_ code: JSONError.Code, at offset: Int) -> Bool {
        error = JSONError(code, at: offset)
        return false
    }
}
