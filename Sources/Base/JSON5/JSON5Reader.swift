/// Why a text is not JSON5, and at which position.
package struct JSON5Error: Error, Equatable, CustomStringConvertible {
    package let line: Int
    package let column: Int
    package let problem: String

    package var description: String { "line \(line), column \(column): \(problem)" }
}

/// A parser of JSON5 (json5.org): JSON with comments, trailing commas, bare keys, single quotes and hexadecimal
/// numbers.
///
/// It exists because messages about a file must name the line of a key, which Foundation's decoder does not report.
package struct JSON5Reader {
    private static let maxDepth = 63

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    private var line = 1
    private var lineStart = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package static func read(_ bytes: [UInt8]) throws(JSON5Error) -> JSONTree {
        var reader = JSON5Reader(bytes)
        try reader.skipBlank()
        if reader.current == nil { throw reader.error("it is empty; an object without members is {}") }
        let tree = try reader.value()
        try reader.skipBlank()
        if reader.position < bytes.count { throw reader.error("nothing may follow the value") }
        return tree
    }

    private var place: JSONTree.Place { JSONTree.Place(line: line, column: position - lineStart + 1) }

    private func error(_ problem: String) -> JSON5Error {
        JSON5Error(line: line, column: position - lineStart + 1, problem: problem)
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func byte(after distance: Int) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private mutating func advance() {
        if bytes[position] == 0x0a {
            line += 1
            lineStart = position + 1
        }
        position += 1
    }

    /// Skips white space and comments.
    private mutating func skipBlank() throws(JSON5Error) {
        while let byte = current {
            switch byte {
            case 0x20, 0x09...0x0d:
                advance()
            case 0xc2 where self.byte(after: 1) == 0xa0:
                position += 2
            case 0xef where self.byte(after: 1) == 0xbb && self.byte(after: 2) == 0xbf:
                position += 3
            case 0xe2 where self.byte(after: 1) == 0x80 && (self.byte(after: 2) == 0xa8 || self.byte(after: 2) == 0xa9):
                position += 3
            case UInt8(ascii: "/") where self.byte(after: 1) == UInt8(ascii: "/"):
                while let byte = current, byte != 0x0a { advance() }
            case UInt8(ascii: "/") where self.byte(after: 1) == UInt8(ascii: "*"):
                let start = error("this comment has no end")
                position += 2
                while !(current == UInt8(ascii: "*") && self.byte(after: 1) == UInt8(ascii: "/")) {
                    guard current != nil else { throw start }
                    advance()
                }
                position += 2
            default:
                return
            }
        }
    }

    private mutating func value() throws(JSON5Error) -> JSONTree {
        let place = place
        return JSONTree(try bareValue(), at: place)
    }

    private mutating func bareValue() throws(JSON5Error) -> JSONTree.Value {
        guard let byte = current else { throw error("a value is missing") }
        switch byte {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try string(closing: byte))
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return .number(try number())
        default:
            let start = position
            guard let word = try? identifier() else { throw error("a value cannot begin here") }
            switch word {
            case "true": return .boolean(true)
            case "false": return .boolean(false)
            case "null": return .null
            case "Infinity": return .number(.infinity)
            case "NaN": return .number(.nan)
            default:
                position = start
                throw error("\"\(word)\" is not a value; text needs quotes")
            }
        }
    }

    private mutating func object() throws(JSON5Error) -> JSONTree.Value {
        try enter()
        var members: [JSONTree.Member] = []
        while true {
            try skipBlank()
            guard let byte = current else { throw error("an object has no closing brace") }
            if byte == UInt8(ascii: "}") { break }
            let keyPlace = place
            let isQuoted = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
            let key = try isQuoted ? string(closing: byte) : identifier()
            try skipBlank()
            guard current == UInt8(ascii: ":") else { throw error("a colon must follow the key \"\(key)\"") }
            advance()
            try skipBlank()
            members.append(JSONTree.Member(key: key, place: keyPlace, value: try value()))
            if try !comma(or: UInt8(ascii: "}"), problem: "a comma or a closing brace is missing") { break }
        }
        leave()
        return .object(members)
    }

    private mutating func array() throws(JSON5Error) -> JSONTree.Value {
        try enter()
        var elements: [JSONTree] = []
        while true {
            try skipBlank()
            if current == UInt8(ascii: "]") { break }
            elements.append(try value())
            if try !comma(or: UInt8(ascii: "]"), problem: "a comma or a closing bracket is missing") { break }
        }
        leave()
        return .array(elements)
    }

    private mutating func enter() throws(JSON5Error) {
        guard depth < Self.maxDepth else { throw error("nested deeper than \(Self.maxDepth) levels") }
        depth += 1
        advance()
    }

    private mutating func leave() {
        depth -= 1
        advance()
    }

    private mutating func comma(or closing: UInt8, problem: String) throws(JSON5Error) -> Bool {
        try skipBlank()
        if current == UInt8(ascii: ",") {
            advance()
            return true
        }
        if current == closing { return false }
        throw error(problem)
    }

    private mutating func identifier() throws(JSON5Error) -> String {
        let start = position
        while let byte = current, isIdentifier(byte, isFirst: position == start) { position += 1 }
        guard position > start else { throw error("a key or a closing brace is missing") }
        return text(from: start)
    }

    /// Returns the text up to the current position, with invalid UTF-8 replaced.
    private func text(from start: Int) -> String { String(decoding: bytes[start..<position], as: UTF8.self) }

    private func isIdentifier(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "$"), 0x80...:
            true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): !isFirst
        default: false
        }
    }

    private mutating func number() throws(JSON5Error) -> Double {
        let start = position
        var sign = 1.0
        if let byte = current, byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") {
            if byte == UInt8(ascii: "-") { sign = -1 }
            position += 1
        }
        let digits = position
        while let byte = current,
            isIdentifier(byte, isFirst: false) || byte == UInt8(ascii: ".") || isExponentSign(byte)
        {
            position += 1
        }
        let text = text(from: digits)
        if text == "Infinity" { return sign * .infinity }
        if text == "NaN" { return .nan }
        if text.hasPrefix("0x") || text.hasPrefix("0X"), let value = UInt64(text.dropFirst(2), radix: 16) {
            return sign * Double(value)
        }
        let first = text.utf8.first ?? 0
        let hasLeadingZero =
            text.utf8.count > 1 && first == UInt8(ascii: "0") && text.utf8.dropFirst().first! &- 48 < 10
        let hasLetters = text.utf8.contains { $0 | 0x20 >= 0x61 && $0 | 0x20 != UInt8(ascii: "e") }
        // JSON5 allows a number to begin or end with its decimal point; Swift's parser requires digits on both sides.
        let padded = (first == UInt8(ascii: ".") ? "0" : "") + text + (text.hasSuffix(".") ? "0" : "")
        guard !hasLeadingZero, !hasLetters, text != ".", let value = Double(padded) else {
            position = start
            throw error("this is not a number")
        }
        return sign * value
    }

    private func isExponentSign(_ byte: UInt8) -> Bool {
        guard byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-"), position > 0 else { return false }
        return bytes[position - 1] | 0x20 == UInt8(ascii: "e")
    }

    private mutating func string(closing quote: UInt8) throws(JSON5Error) -> String {
        let start = error("this string has no closing quote")
        advance()
        var text: [UInt8] = []
        while true {
            guard let byte = current, byte != 0x0a, byte != 0x0d else { throw start }
            if byte == quote { break }
            if byte == UInt8(ascii: "\\") {
                try appendEscape(to: &text)
            } else {
                text.append(byte)
                position += 1
            }
        }
        advance()
        guard let valid = String(validating: text, as: UTF8.self) else { throw error("this string is not UTF-8") }
        return valid
    }

    private mutating func appendEscape(to text: inout [UInt8]) throws(JSON5Error) {
        guard let escaped = byte(after: 1) else { throw error("an escape ends early") }
        var length = 2
        switch escaped {
        case UInt8(ascii: "u"):
            guard let (scalar, count) = escapedScalar() else { throw error("four hexadecimal digits must follow \\u") }
            text.append(contentsOf: String(scalar).utf8)
            length = count
        case UInt8(ascii: "x"):
            guard let code = hexadecimal(2, after: 2), let scalar = Unicode.Scalar(code) else {
                throw error("two hexadecimal digits must follow \\x")
            }
            text.append(contentsOf: String(scalar).utf8)
            length = 4
        case 0x0a:
            position += 1
            advance()
            return
        case UInt8(ascii: "0"): text.append(0)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "v"): text.append(0x0b)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "r"): text.append(0x0d)
        default: text.append(escaped)
        }
        position += length
    }

    /// Returns the scalar of a `\u` escape, or of two that form a surrogate pair, and the length of its source text. An
    /// unpaired surrogate becomes U+FFFD.
    private func escapedScalar() -> (Unicode.Scalar, length: Int)? {
        guard let first = hexadecimal(4, after: 2) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        if first < 0xdc00, byte(after: 6) == UInt8(ascii: "\\"), byte(after: 7) == UInt8(ascii: "u") {
            guard let second = hexadecimal(4, after: 8) else { return nil }
            if 0xdc00...0xdfff ~= second,
                let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
            {
                return (scalar, 12)
            }
        }
        return ("\u{fffd}", 6)
    }

    private func hexadecimal(_ count: Int, after distance: Int) -> UInt32? {
        var value: UInt32 = 0
        for offset in distance..<distance + count {
            guard let digit = byte(after: offset), let number = Character(Unicode.Scalar(digit)).hexDigitValue else {
                return nil
            }
            value = value << 4 | UInt32(number)
        }
        return value
    }
}
