/// A strict parser of one line of JSON for the tests: it accepts what RFC 8259 allows and nothing else.
struct JSONScanner {
    enum Value: Hashable {
        case string(String)
        case number(String)
        case bool(Bool)
        case null
        case list([Value])
    }

    struct Fault: Error {
        let what: String
        let offset: Int
    }

    private let bytes: [UInt8]
    private var position = 0

    /// Returns the members of a flat object that is the whole text.
    static func object(_ text: String) throws -> [String: Value] {
        var scanner = JSONScanner(bytes: Array(text.utf8))
        var members: [String: Value] = [:]
        try scanner.expect("{")
        repeat {
            guard case .string(let key) = try scanner.value() else { throw scanner.fault("a key must be a string") }
            try scanner.expect(":")
            if members.updateValue(try scanner.value(), forKey: key) != nil { throw scanner.fault("two \(key)") }
        } while scanner.accept(",")
        try scanner.expect("}")
        try scanner.expect("\n")
        if scanner.position != scanner.bytes.count { throw scanner.fault("unexpected text after the object") }
        return members
    }

    private func fault(_ what: String) -> Fault { Fault(what: what, offset: position) }

    private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: scalar) else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ scalar: Unicode.Scalar) throws {
        if !accept(scalar) { throw fault("expected \(scalar)") }
    }

    private mutating func value() throws -> Value {
        if accept("\"") { return .string(try string()) }
        if accept("[") {
            var values: [Value] = []
            if accept("]") { return .list(values) }
            repeat { values.append(try value()) } while accept(",")
            try expect("]")
            return .list(values)
        }
        let start = position
        while position < bytes.count, !Array(",]}".utf8).contains(bytes[position]) { position += 1 }
        let word = String(decoding: bytes[start..<position], as: UTF8.self)
        switch word {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default:
            guard word.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil else {
                throw fault("\"\(word)\" is not a number")
            }
            return .number(word)
        }
    }

    private mutating func string() throws -> String {
        var units: [UInt16] = []
        var plain: [UInt8] = []
        func flushed() -> [UInt16] { Array(String(decoding: plain, as: UTF8.self).utf16) }
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: units + flushed(), as: UTF16.self) }
            if byte < 0x20 { throw fault("a control character in a string") }
            if byte != UInt8(ascii: "\\") {
                plain.append(byte)
                continue
            }
            units += flushed()
            plain = []
            guard position < bytes.count else { break }
            let escape = Unicode.Scalar(bytes[position])
            position += 1
            switch escape {
            case "n": units.append(10)
            case "r": units.append(13)
            case "t": units.append(9)
            case "\"", "\\", "/": units.append(UInt16(escape.value))
            case "u":
                guard position + 4 <= bytes.count,
                    let unit = UInt16(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
                else { throw fault("four digits must follow \\u") }
                units.append(unit)
                position += 4
            default: throw fault("invalid escape \\\(escape)")
            }
        }
        throw fault("the string does not end")
    }
}
