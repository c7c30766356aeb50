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
    /// Whether the body may have members that are not read.
    private var ignoresOthers = false

    package init() {}

    mutating func add(_ name: String, in place: Place, isRequired: Bool, schema: JSONValue, about: String) {
        values.append(Value(name: name, place: place, isRequired: isRequired, schema: schema, about: about))
    }

    mutating func add(oneOf first: String, _ second: String) { alternative = (first, second) }

    mutating func ignoreOthers() { ignoresOthers = true }

    package func values(in place: Place) -> [Value] { values.filter { $0.place == place } }

    /// The schema of the body.
    package var bodySchema: JSONValue {
        let members = values(in: .body)
        var schema: [String: JSONValue] = [
            "type": "object", "additionalProperties": .bool(ignoresOthers),
            "properties": .object(
                Dictionary(
                    members.map { ($0.name, Self.schema(of: $0).adding("description", .string($0.about))) },
                    uniquingKeysWith: { first, _ in first })),
        ]
        let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        if let (first, second) = alternative {
            schema["if"] = Self.given(first)
            schema["then"] = ["not": Self.given(second)]
            schema["else"] = Self.given(second)
        }
        return .object(schema)
    }

    /// Returns the schema of a member. Null stands for an absent value.
    private static func schema(of member: Value) -> JSONValue {
        member.isRequired ? member.schema : member.schema.orNull
    }

    /// Returns the rule that a body has a member that is not null.
    private static func given(_ name: String) -> JSONValue {
        ["required": [.string(name)], "properties": .object([name: ["not": ["type": "null"]]])]
    }
}

extension JSONValue {
    /// Returns an object with one more member; any other value is returned unchanged.
    func adding(_ name: String, _ value: JSONValue) -> JSONValue {
        guard case .object(var members) = self else { return self }
        members[name] = value
        return .object(members)
    }

    /// The schema that allows null, too.
    fileprivate var orNull: JSONValue {
        guard case .object(let rules) = self, let type = rules["type"] else { return self }
        let types: [JSONValue] = if case .array(let types) = type { types } else { [type] }
        let schema = adding("type", .array(types + ["null"]))
        guard case .array(let words)? = rules["enum"] else { return schema }
        return schema.adding("enum", .array(words + [.null]))
    }

    /// The schema of the value of a query, which is never empty.
    var notEmpty: JSONValue {
        guard case .object(let rules) = self else { return self }
        switch rules["type"] {
        case "string" where rules["minLength"] ?? 0 == 0: return adding("minLength", 1)
        case "array" where rules["minItems"] == 0: return adding("minItems", 1)
        default: return self
        }
    }
}
