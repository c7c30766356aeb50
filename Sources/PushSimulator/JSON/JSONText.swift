import JSON5

/// A writer of JSON text, for the answers of the control port.
struct JSONText {
    private(set) var bytes: [UInt8] = []
    /// Whether a comma is needed before the next member or element.
    private var needsComma = false

    init() {}

    mutating func object(_ key: StaticString? = nil, _ body: (inout JSONText) -> Void) {
        begin(key)
        container(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
    }

    mutating func array(_ key: StaticString? = nil, _ body: (inout JSONText) -> Void) {
        begin(key)
        container(UInt8(ascii: "["), UInt8(ascii: "]"), body)
    }

    /// Writes an object whose key is known only at run time.
    mutating func object(named key: String, _ body: (inout JSONText) -> Void) {
        begin(named: key)
        container(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
    }

    mutating func string(_ key: StaticString? = nil, _ value: String) {
        begin(key)
        quote(value.utf8)
    }

    /// Writes bytes from a peer as a string; invalid UTF-8 is replaced.
    mutating func string(_ key: StaticString? = nil, bytes value: [UInt8]) {
        string(key, String(decoding: value, as: UTF8.self))
    }

    mutating func number(_ key: StaticString? = nil, _ value: some BinaryInteger) {
        begin(key)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func number(_ key: StaticString? = nil, _ value: Double) {
        begin(key)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func number(named key: String, _ value: some BinaryInteger) {
        begin(named: key)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func boolean(_ key: StaticString? = nil, _ value: Bool) {
        begin(key)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    mutating func hex(_ key: StaticString? = nil, _ value: [UInt8]) {
        begin(key)
        bytes.append(UInt8(ascii: "\""))
        for byte in value { Hex.append(byte, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes text that is known to be valid JSON.
    mutating func raw(_ key: StaticString? = nil, _ value: [UInt8]) {
        begin(key)
        bytes.append(contentsOf: value)
    }

    /// Writes a parsed value.
    mutating func tree(_ tree: JSONTree) {
        switch tree.value {
        case .null: raw(nil, Array("null".utf8))
        case .boolean(let flag): boolean(nil, flag)
        case .number(let number):
            if let whole = tree.integer {
                self.number(nil, whole)
            } else if number.isFinite {
                self.number(nil, number)
            } else {
                raw(nil, Array("null".utf8))
            }
        case .string(let text): string(nil, text)
        case .array(let elements): array { list in for element in elements { list.tree(element) } }
        case .object(let members):
            object { text in
                for member in members {
                    text.begin(named: member.key)
                    text.needsComma = false
                    text.tree(member.value)
                }
            }
        }
    }

    mutating func newline() {
        bytes.append(0x0a)
        needsComma = false
    }

    private mutating func container(_ first: UInt8, _ last: UInt8, _ body: (inout JSONText) -> Void) {
        bytes.append(first)
        needsComma = false
        body(&self)
        bytes.append(last)
        needsComma = true
    }

    private mutating func begin(_ key: StaticString?) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
        guard let key else { return }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: key.description.utf8)
        bytes.append(contentsOf: "\":".utf8)
    }

    private mutating func begin(named key: String) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
        quote(key.utf8)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func quote(_ text: some Sequence<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20, 0x7f:
                bytes.append(contentsOf: "\\u00".utf8)
                Hex.append(byte, to: &bytes)
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
