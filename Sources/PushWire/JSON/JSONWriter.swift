/// A writer of compact JSON. Members are written in the order of the calls.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    mutating func object(_ members: (inout JSONWriter) -> Void) {
        begin(UInt8(ascii: "{"))
        members(&self)
        end(UInt8(ascii: "}"))
    }

    mutating func array(_ elements: (inout JSONWriter) -> Void) {
        begin(UInt8(ascii: "["))
        elements(&self)
        end(UInt8(ascii: "]"))
    }

    mutating func key(_ name: String) {
        separate()
        JSONText.appendQuoted(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func value(_ value: JSONValue) {
        switch value {
        case .null: word("null")
        case .bool(let flag): word(flag ? "true" : "false")
        case .integer(let number): word(String(number))
        case .number(let number): word(number.isFinite ? number.description : "null")
        case .string(let text):
            separate()
            JSONText.appendQuoted(text, to: &bytes)
            needsComma = true
        case .array(let elements):
            array { writer in
                for element in elements { writer.value(element) }
            }
        case .object(let members):
            object { $0.members(members) }
        }
    }

    mutating func members(_ members: [String: JSONValue]) {
        for (name, value) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            key(name)
            self.value(value)
        }
    }

    /// Writes a member, unless the value is nil.
    mutating func member(_ name: String, value text: String?) {
        if let text { member(name, value: .string(text)) }
    }

    mutating func member(_ name: String, value number: Int64?) {
        if let number { member(name, value: .integer(number)) }
    }

    mutating func member(_ name: String, value number: Double?) {
        if let number { member(name, value: .number(number)) }
    }

    mutating func member(_ name: String, value texts: [String]) {
        if !texts.isEmpty { member(name, value: .array(texts.map { .string($0) })) }
    }

    mutating func member(_ name: String, value: JSONValue?) {
        guard let value else { return }
        key(name)
        self.value(value)
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func word(_ word: String) {
        separate()
        bytes.append(contentsOf: word.utf8)
        needsComma = true
    }

    private mutating func begin(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }
}
