package import PushWire

/// The form of one value of a request: how it is read from JSON and from the text of a query, its schema, and an
/// example.
package struct Form<Value: Sendable>: Sendable {
    typealias TextReader = @Sendable (String, inout InputFaults) -> Value?
    typealias JSONReader = @Sendable (JSONDocument, JSONDocument.Position, inout InputFaults) -> Value?

    /// Makes the JSON schema, which only the documentation needs: a form is made for each value of each request.
    private let makeSchema: @Sendable () -> JSONValue
    /// A valid value. It also stands for a value that is missing or invalid while the rest of a request is checked.
    package let example: Value
    /// Reads the value from a query, a path or a form; nil after it has added a fault. A form that exists only in JSON
    /// has no reader.
    let readText: TextReader?
    /// Reads the value from a body; nil after it has added a fault.
    let readJSON: JSONReader

    /// The JSON schema.
    package var schema: JSONValue { makeSchema() }

    init(
        schema: @autoclosure @escaping @Sendable () -> JSONValue, example: Value, text: TextReader?,
        json: @escaping JSONReader
    ) {
        makeSchema = schema
        self.example = example
        readText = text
        readJSON = json
    }
}

extension JSONDocument {
    /// Returns the string at a position, or adds a fault.
    func text(_ position: Position, or faults: inout InputFaults) -> String? {
        if let text = string(position) { return text }
        faults.add(.wrongType, detail: "a string is expected, not \(kind(position).name)")
        return nil
    }
}
