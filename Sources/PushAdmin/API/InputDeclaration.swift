package import PushWire

/// The values that an input reads, in the order of its calls.
package struct InputDeclaration: Sendable {
    package enum Place: String, Sendable {
        case path, query, body
    }

    package struct Value: Sendable {
        package let name: String
        package let place: Place
        package let isRequired: Bool
        package let schema: JSONValue
        package let about: String

        /// Whether the value is a list, which is one text with commas outside of JSON.
        var isList: Bool {
            if case .object(let rules) = schema { rules["type"] == "array" } else { false }
        }
    }

    package private(set) var values: [Value] = []
    /// Two members of the body of which a request has one.
    private var alternative: (String, String)?

    package init() {}

    mutating func add(_ name: String, in place: Place, isRequired: Bool, schema: JSONValue, about: String) {
        values.append(Value(name: name, place: place, isRequired: isRequired, schema: schema, about: about))
    }

    mutating func add(oneOf first: String, _ second: String) { alternative = (first, second) }

    package func values(in place: Place) -> [Value] { values.filter { $0.place == place } }

    /// The schema of the body.
    package var bodySchema: JSONValue {
        let members = values(in: .body)
        var schema: [String: JSONValue] = [
            "type": "object", "additionalProperties": false,
            "properties": .object(
                Dictionary(
                    members.map { ($0.name, $0.schema.adding("description", .string($0.about))) },
                    uniquingKeysWith: { first, _ in first })),
        ]
        let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        if let (first, second) = alternative {
            schema["if"] = ["required": [.string(first)]]
            schema["then"] = ["not": ["required": [.string(second)]]]
            schema["else"] = ["required": [.string(second)]]
        }
        return .object(schema)
    }
}

extension JSONValue {
    /// Returns an object with one more member; any other value is returned unchanged.
    func adding(_ name: String, _ value: JSONValue) -> JSONValue {
        guard case .object(var members) = self else { return self }
        members[name] = value
        return .object(members)
    }
}
