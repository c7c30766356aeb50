/// Members that may be absent, and trees of values.
extension JSONWriter {
    /// Writes a member, unless the value is nil.
    @inline(__always)
    package mutating func member(_ name: StaticString, value text: String?) {
        guard let text else { return }
        key(plain: name)
        string(text)
    }

    @inline(__always)
    package mutating func member(_ name: StaticString, value number: Int64?) {
        guard let number else { return }
        key(plain: name)
        integer(number)
    }

    package mutating func member(_ name: StaticString, value number: Double?) {
        guard let number else { return }
        key(plain: name)
        self.number(number)
    }

    package mutating func member(_ name: StaticString, value texts: [String]) {
        guard !texts.isEmpty else { return }
        key(plain: name)
        strings(texts)
    }

    package mutating func member(_ name: StaticString, value: JSONValue?) {
        guard let value else { return }
        key(plain: name)
        self.value(value)
    }

    package mutating func strings(_ texts: [String]) {
        beginArray()
        for text in texts { string(text) }
        endArray()
    }

    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let flag): bool(flag)
        case .integer(let number): integer(number)
        case .number(let number): self.number(number)
        case .string(let text): string(text)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            self.members(members)
            endObject()
        }
    }

    package mutating func members(_ members: [String: JSONValue]) {
        for (name, value) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            key(name)
            self.value(value)
        }
    }
}
