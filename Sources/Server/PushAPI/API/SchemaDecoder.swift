import PushWire

/// Finds the schema of a type by its initializer from a decoder: the decoder records which members are asked for, and
/// with which types, and returns values that are empty.
struct SchemaDecoder: Decoder {
    /// The members of an object, in the order of the calls.
    final class Record {
        struct Member {
            let name: String
            let type: any Decodable.Type
            let isRequired: Bool
        }

        var members: [Member] = []
        var single: (any Decodable.Type)?

        func add(_ name: String, of type: any Decodable.Type, isRequired: Bool) {
            members.append(Member(name: name, type: type, isRequired: isRequired))
        }
    }

    let record = Record()
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// A type that cannot be created from empty values. It needs a schema of its own.
    struct Unsupported: Error {
        let type: String
    }

    static func schema(of type: any Decodable.Type, in book: inout NamedSchemas) -> JSONValue {
        let decoder = SchemaDecoder()
        do {
            _ = try type.init(from: decoder)
        } catch {
            preconditionFailure("the schema of \(type) cannot be found: \(error)")
        }
        if let single = decoder.record.single { return book.schema(of: single) }
        let about = (type as? any JSONAnswer.Type)?.about ?? [:]
        var properties: [String: JSONValue] = [:]
        for member in decoder.record.members {
            let schema = book.schema(of: member.type)
            // Beside a reference, OpenAPI 3.1 allows a description.
            properties[member.name] = about[member.name].map { schema.adding("description", .string($0)) } ?? schema
        }
        var schema: [String: JSONValue] = ["type": "object", "properties": .object(properties)]
        let required = decoder.record.members.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        return .object(schema)
    }

    static func value<Value: Decodable>(of type: Value.Type) throws -> Value {
        if let choice = type as? any SchemaChoice.Type, let word = choice.firstWord as? Value { return word }
        return try Value(from: SchemaDecoder())
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members(record: record))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { NoElements() }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(record: record) }

    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let record: Record
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool { true }
        func decodeNil(forKey key: Key) -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            record.add(key.stringValue, of: type, isRequired: true)
            return try SchemaDecoder.value(of: type)
        }

        func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
            record.add(key.stringValue, of: type, isRequired: false)
            return nil
        }

        // The requirements of the protocol for simple types have default implementations that call `decode` with the
        // type, except these.
        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { simple(type, key, value: false) }
        func decode(_ type: String.Type, forKey key: Key) throws -> String { simple(type, key, value: "") }
        func decode(_ type: Double.Type, forKey key: Key) throws -> Double { simple(type, key, value: 0) }
        func decode(_ type: Float.Type, forKey key: Key) throws -> Float { simple(type, key, value: 0) }
        func decode(_ type: Int.Type, forKey key: Key) throws -> Int { simple(type, key, value: 0) }
        func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { simple(type, key, value: 0) }
        func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { simple(type, key, value: 0) }
        func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { simple(type, key, value: 0) }
        func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { simple(type, key, value: 0) }
        func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { simple(type, key, value: 0) }
        func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { simple(type, key, value: 0) }
        func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { simple(type, key, value: 0) }
        func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { simple(type, key, value: 0) }
        func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { simple(type, key, value: 0) }

        func decodeIfPresent(_ type: Bool.Type, forKey key: Key) -> Bool? { absent(type, key) }
        func decodeIfPresent(_ type: String.Type, forKey key: Key) -> String? { absent(type, key) }
        func decodeIfPresent(_ type: Double.Type, forKey key: Key) -> Double? { absent(type, key) }
        func decodeIfPresent(_ type: Int.Type, forKey key: Key) -> Int? { absent(type, key) }
        func decodeIfPresent(_ type: Int64.Type, forKey key: Key) -> Int64? { absent(type, key) }
        func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) -> UInt64? { absent(type, key) }

        private func simple<Value: Decodable>(_ type: Value.Type, _ key: Key, value: Value) -> Value {
            record.add(key.stringValue, of: type, isRequired: true)
            return value
        }

        private func absent<Value: Decodable>(_ type: Value.Type, _ key: Key) -> Value? {
            record.add(key.stringValue, of: type, isRequired: false)
            return nil
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            throw Unsupported(type: key.stringValue)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            throw Unsupported(type: key.stringValue)
        }

        func superDecoder() throws -> any Decoder { throw Unsupported(type: "super") }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw Unsupported(type: key.stringValue) }
    }

    private struct Single: SingleValueDecodingContainer {
        let record: Record
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            record.single = type
            return try SchemaDecoder.value(of: type)
        }

        func decode(_ type: Bool.Type) -> Bool { simple(type, false) }
        func decode(_ type: String.Type) -> String { simple(type, "") }
        func decode(_ type: Double.Type) -> Double { simple(type, 0) }
        func decode(_ type: Float.Type) -> Float { simple(type, 0) }
        func decode(_ type: Int.Type) -> Int { simple(type, 0) }
        func decode(_ type: Int8.Type) -> Int8 { simple(type, 0) }
        func decode(_ type: Int16.Type) -> Int16 { simple(type, 0) }
        func decode(_ type: Int32.Type) -> Int32 { simple(type, 0) }
        func decode(_ type: Int64.Type) -> Int64 { simple(type, 0) }
        func decode(_ type: UInt.Type) -> UInt { simple(type, 0) }
        func decode(_ type: UInt8.Type) -> UInt8 { simple(type, 0) }
        func decode(_ type: UInt16.Type) -> UInt16 { simple(type, 0) }
        func decode(_ type: UInt32.Type) -> UInt32 { simple(type, 0) }
        func decode(_ type: UInt64.Type) -> UInt64 { simple(type, 0) }

        private func simple<Value: Decodable>(_ type: Value.Type, _ value: Value) -> Value {
            record.single = type
            return value
        }
    }

    /// The elements of a list, of which there are none.
    private struct NoElements: UnkeyedDecodingContainer {
        var codingPath: [any CodingKey] { [] }
        var count: Int? { 0 }
        var isAtEnd: Bool { true }
        var currentIndex: Int { 0 }

        func decodeNil() throws -> Bool { throw Unsupported(type: "element") }
        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { throw Unsupported(type: "element") }
        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
            throw Unsupported(type: "element")
        }
        func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unsupported(type: "element") }
        func superDecoder() throws -> any Decoder { throw Unsupported(type: "element") }
    }
}
