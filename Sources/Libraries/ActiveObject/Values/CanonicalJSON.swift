import FoundationEssentials

/// Returns JSON, in which equal values have equal texts: names are sorted, and so are the elements of sets, which Swift
/// encodes in the order of their hashes.
///
/// A type that calls `encode(to:)` of a set in it, in place of a container's `encode`, gets the order of its hashes.
///
/// Each set of two and more elements encodes them twice, so that nested ones double the time with each level.
func canonicalJSON(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(sorted(value)), as: UTF8.self)
}

/// Returns what an encoder encodes in place of a value.
private func sorted(_ value: some Encodable) throws -> any Encodable {
    switch value {
    // These contain no sets, and the encoder has forms of its own for decimals, dates, data and URLs.
    case is Bool, is String, is any Numeric, is Date, is Data, is URL: value
    case is [Int], is [Double], is [String]: value
    case let list as any UnorderedList: SortedValue(value: try list.inOrder())
    default: SortedValue(value: value)
    }
}

/// A value without an order, which is encoded as a list.
private protocol UnorderedList {
    func inOrder() throws -> any Encodable
}

extension Set: UnorderedList where Element: Encodable {
    fileprivate func inOrder() throws -> any Encodable { try sortedByText(Array(self)) { $0 } }
}

extension Dictionary: UnorderedList where Key: Encodable, Value: Encodable {
    fileprivate func inOrder() throws -> any Encodable {
        // With such keys it is an object.
        let hasNames = Key.self is String.Type || Key.self is Int.Type || Key.self is any CodingKeyRepresentable.Type
        return hasNames ? self : FlatPairs(pairs: try sortedByText(Array(self), key: \.key))
    }
}

private func sortedByText<Element>(_ elements: [Element], key: (Element) -> some Encodable) throws -> [Element] {
    guard elements.count > 1 else { return elements }
    return try elements.map { (text: try canonicalJSON(key($0)), element: $0) }
        .sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
        .map(\.element)
}

/// Keys and values in turn, as Swift encodes a dictionary whose keys are no names.
private struct FlatPairs<Key: Encodable, Value: Encodable>: Encodable {
    let pairs: [(key: Key, value: Value)]

    func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        for (key, value) in pairs {
            try list.encode(key)
            try list.encode(value)
        }
    }
}

/// A value that is encoded with everything in it sorted.
private struct SortedValue: Encodable {
    let value: any Encodable

    func encode(to encoder: any Encoder) throws { try value.encode(to: SortingEncoder(base: encoder)) }
}

/// An encoder that sorts, and leaves the writing to another one.
private struct SortingEncoder: Encoder {
    let base: any Encoder

    var codingPath: [any CodingKey] { base.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(SortingObject(base: base.container(keyedBy: type)))
    }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { SortingList(base: base.unkeyedContainer()) }
    func singleValueContainer() -> any SingleValueEncodingContainer {
        SortingValue(base: base.singleValueContainer())
    }
}

private struct SortingObject<Key: CodingKey>: KeyedEncodingContainerProtocol {
    var base: KeyedEncodingContainer<Key>

    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil(forKey key: Key) throws { try base.encodeNil(forKey: key) }
    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try base.encode(sorted(value), forKey: key)
    }
    mutating func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested>
    {
        KeyedEncodingContainer(SortingObject<Nested>(base: base.nestedContainer(keyedBy: type, forKey: key)))
    }
    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        SortingList(base: base.nestedUnkeyedContainer(forKey: key))
    }
    mutating func superEncoder() -> any Encoder { SortingEncoder(base: base.superEncoder()) }
    mutating func superEncoder(forKey key: Key) -> any Encoder {
        SortingEncoder(base: base.superEncoder(forKey: key))
    }
}

private struct SortingList: UnkeyedEncodingContainer {
    var base: any UnkeyedEncodingContainer

    var codingPath: [any CodingKey] { base.codingPath }
    var count: Int { base.count }

    mutating func encodeNil() throws { try base.encodeNil() }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try base.encode(sorted(value)) }
    mutating func nestedContainer<Nested>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(SortingObject<Nested>(base: base.nestedContainer(keyedBy: type)))
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        SortingList(base: base.nestedUnkeyedContainer())
    }
    mutating func superEncoder() -> any Encoder { SortingEncoder(base: base.superEncoder()) }
}

private struct SortingValue: SingleValueEncodingContainer {
    var base: any SingleValueEncodingContainer

    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil() throws { try base.encodeNil() }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try base.encode(sorted(value)) }
}
