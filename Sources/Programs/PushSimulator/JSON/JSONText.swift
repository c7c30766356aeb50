import JSON5

/// A writer of JSON text, for the answers of the control port.
struct JSONText {
    private(set) var bytes: [UInt8] = []
    /// Whether a comma is needed before the next member or element.
    private var needsComma = false

    init() {}

    mutating func object(_ key: StaticString? = nil, with body: (inout JSONText) -> Void) {
        begin(key)
        container(from: "{", to: "}", with: body)
    }

    mutating func array(_ key: StaticString? = nil, with body: (inout JSONText) -> Void) {
        begin(key)
        container(from: "[", to: "]", with: body)
    }

    mutating func member(_ key: StaticString, string value: String) {
        begin(key)
        quote(value.utf8)
    }

    /// Writes bytes from a peer as a string; invalid UTF-8 is replaced.
    mutating func member(_ key: StaticString, bytes value: [UInt8]) {
        member(key, string: String(decoding: value, as: UTF8.self))
    }

    mutating func member(_ key: StaticString, number value: some BinaryInteger) {
        begin(key)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func member(_ key: StaticString, boolean value: Bool) {
        begin(key)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    mutating func member(_ key: StaticString, hex value: [UInt8]) {
        begin(key)
        bytes.append(UInt8(ascii: "\""))
        for byte in value { Hex.append(byte, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes text that is known to be valid JSON.
    mutating func member(_ key: StaticString, json value: [UInt8]) {
        begin(key)
        bytes.append(contentsOf: value)
    }

    mutating func element(_ value: String) {
        begin(nil)
        quote(value.utf8)
    }

    /// Writes bytes from a peer as a string; invalid UTF-8 is replaced.
    mutating func element(bytes value: [UInt8]) {
        element(String(decoding: value, as: UTF8.self))
    }

    /// Writes a parsed value.
    mutating func tree(_ tree: JSONTree) {
        switch tree.value {
        case .null: literal("null")
        case .boolean(let flag): literal(flag ? "true" : "false")
        case .number(let number):
            if let whole = tree.integer {
                literal(String(whole))
            } else {
                literal(number.isFinite ? String(number) : "null")
            }
        case .string(let text): element(text)
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

    private mutating func literal(_ text: String) {
        begin(nil)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func newline() {
        bytes.append(0x0a)
        needsComma = false
    }

    private mutating func container(
        from first: Unicode.Scalar, to last: Unicode.Scalar, with body: (inout JSONText) -> Void
    ) {
        bytes.append(UInt8(ascii: first))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: last))
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
