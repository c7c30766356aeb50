/// A reader of JSON (RFC 8259) for text from strangers: valid UTF-8, unique keys, bounded depth, and nothing after the
/// value. The caller bounds the length.
struct StrictJSONReader {
    static let maxDepth = 24

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func read(_ bytes: [UInt8]) throws(JSONFault) -> ReceiptJSON {
        var reader = StrictJSONReader(bytes)
        reader.skipBlank()
        let value = try reader.value()
        reader.skipBlank()
        guard reader.position == bytes.count else { throw reader.fault("nothing may follow the value") }
        return value
    }

    private func fault(_ problem: String) -> JSONFault { .malformed(problem, position: position) }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipBlank() {
        while let byte = current, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(JSONFault) -> ReceiptJSON {
        switch current {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw fault("a value is missing")
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: ReceiptJSON) throws(JSONFault) -> ReceiptJSON {
        for byte in "\(word)".utf8 where !take(byte) { throw fault("a value cannot begin so") }
        return value
    }

    private mutating func enter() throws(JSONFault) {
        guard depth < Self.maxDepth else { throw fault("nested deeper than \(Self.maxDepth) levels") }
        depth += 1
        position += 1
        skipBlank()
    }

    /// Skips a comma, or the closing byte, for which it returns false.
    private mutating func isFollowed(until closing: UInt8) throws(JSONFault) -> Bool {
        skipBlank()
        if take(closing) { return false }
        guard take(UInt8(ascii: ",")) else { throw fault("a comma or a closing bracket is missing") }
        skipBlank()
        return true
    }

    private mutating func object() throws(JSONFault) -> ReceiptJSON {
        try enter()
        defer { depth -= 1 }
        var members: [ReceiptJSON.Member] = []
        if take(UInt8(ascii: "}")) { return .object(members) }
        var keys: Set<String> = []
        repeat {
            guard current == UInt8(ascii: "\"") else { throw fault("a key is missing") }
            let key = try string()
            guard keys.insert(key).inserted else { throw .duplicateKey(key) }
            skipBlank()
            guard take(UInt8(ascii: ":")) else { throw fault("a colon is missing") }
            skipBlank()
            members.append(ReceiptJSON.Member(key: key, value: try value()))
        } while try isFollowed(until: UInt8(ascii: "}"))
        return .object(members)
    }

    private mutating func array() throws(JSONFault) -> ReceiptJSON {
        try enter()
        defer { depth -= 1 }
        var elements: [ReceiptJSON] = []
        if take(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            elements.append(try value())
        } while try isFollowed(until: UInt8(ascii: "]"))
        return .array(elements)
    }

    // MARK: Numbers

    private mutating func digits() throws(JSONFault) {
        let start = position
        while let byte = current, byte &- 48 < 10 { position += 1 }
        guard position > start else { throw fault("a digit is missing") }
    }

    private mutating func number() throws(JSONFault) -> ReceiptJSON {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let first = current
        let firstPosition = position
        try digits()
        if first == UInt8(ascii: "0"), position > firstPosition + 1 { throw fault("a number has a leading zero") }
        var isInteger = true
        if take(UInt8(ascii: ".")) {
            isInteger = false
            try digits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isInteger = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else { throw fault("a number is out of range") }
        return .number(number)
    }

    // MARK: Strings

    private mutating func string() throws(JSONFault) -> String {
        position += 1
        let start = position
        while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { throw fault("a string has a control character") }
            position += 1
        }
        // Most strings have no escapes, and are taken as a whole.
        if current == UInt8(ascii: "\"") { return try finish(Array(bytes[start..<position])) }
        var text = Array(bytes[start..<position])
        while let byte = current, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw fault("a string has a control character") }
            if byte == UInt8(ascii: "\\") {
                try appendEscape(to: &text)
            } else {
                text.append(byte)
                position += 1
            }
        }
        return try finish(text)
    }

    private mutating func finish(_ text: [UInt8]) throws(JSONFault) -> String {
        guard take(UInt8(ascii: "\"")) else { throw fault("a string has no closing quote") }
        guard let valid = String(validating: text, as: UTF8.self) else { throw fault("a string is not UTF-8") }
        return valid
    }

    private mutating func appendEscape(to text: inout [UInt8]) throws(JSONFault) {
        position += 1
        guard let escaped = current else { throw fault("an escape ends early") }
        position += 1
        switch escaped {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escaped)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try scalar()).utf8)
        default: throw fault("there is no such escape")
        }
    }

    /// Reads the digits of a `\u` escape, and a second escape if the first is one half of a surrogate pair.
    private mutating func scalar() throws(JSONFault) -> Unicode.Scalar {
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xdc00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw fault("a surrogate has no partner")
        }
        let second = try unit()
        guard 0xdc00...0xdfff ~= second,
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00))
        else { throw fault("a surrogate has no partner") }
        return scalar
    }

    private mutating func unit() throws(JSONFault) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw fault("four hexadecimal digits must follow \\u")
            }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}
