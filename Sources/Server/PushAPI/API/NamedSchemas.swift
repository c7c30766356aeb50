package import PushWire

/// The schemas of the answers of an API, each under the name of its type.
package struct NamedSchemas {
    package private(set) var schemas: [String: JSONValue] = [:]

    package init() {}

    /// Returns a reference to the schema of a type, and adds it to the book.
    mutating func schema(of type: any Decodable.Type) -> JSONValue {
        if let list = type as? any SchemaList.Type {
            return ["type": "array", "items": schema(of: list.element)]
        }
        if let dictionary = type as? any SchemaDictionary.Type {
            return ["type": "object", "additionalProperties": schema(of: dictionary.element)]
        }
        if let simple = Self.simple(type) { return simple }
        let name = Self.name(of: type)
        if schemas[name] == nil {
            // A type that contains itself finds this entry.
            schemas[name] = .object([:])
            schemas[name] = SchemaDecoder.schema(of: type, in: &self)
        }
        return ["$ref": .string("#/components/schemas/\(name)")]
    }

    /// Adds a schema that was written by hand, and returns a reference to it.
    mutating func schema(named name: String, _ schema: JSONValue) -> JSONValue {
        schemas[name] = schema
        return ["$ref": .string("#/components/schemas/\(name)")]
    }

    private static func simple(_ type: any Decodable.Type) -> JSONValue? {
        if type == String.self { return ["type": "string"] }
        if type == Bool.self { return ["type": "boolean"] }
        if type == Double.self { return ["type": "number"] }
        if type is any (FixedWidthInteger).Type { return ["type": "integer"] }
        if let schema = (type as? any SchemaDescribing.Type)?.jsonSchema { return schema }
        if let words = (type as? any SchemaChoice.Type)?.words {
            return ["type": "string", "enum": .array(words.map { .string($0) })]
        }
        return nil
    }

    /// Returns the name of a type without its module, such as `StatsAnswer.App` as `StatsApp`.
    private static func name(of type: any Decodable.Type) -> String {
        let parts = String(reflecting: type).split(separator: ".").dropFirst()
        return parts.map { part in
            part.hasSuffix("Answer") && part.count > "Answer".count ? part.dropLast("Answer".count) : part
        }.joined()
    }
}

/// A type with a schema of its own.
package protocol SchemaDescribing {
    static var jsonSchema: JSONValue { get }
}

/// A list, for finding the type of its elements.
protocol SchemaList {
    static var element: any Decodable.Type { get }
}

extension Array: SchemaList where Element: Decodable {
    static var element: any Decodable.Type { Element.self }
}

protocol SchemaDictionary {
    static var element: any Decodable.Type { get }
}

extension Dictionary: SchemaDictionary where Key == String, Value: Decodable {
    static var element: any Decodable.Type { Value.self }
}

/// An enumeration of words. Its conformance makes its words known to the documentation.
package protocol SchemaChoice: CaseIterable, RawRepresentable where RawValue == String {}

extension SchemaChoice {
    static var words: [String] { allCases.map(\.rawValue) }
    static var firstWord: Self? { allCases.first }
}
