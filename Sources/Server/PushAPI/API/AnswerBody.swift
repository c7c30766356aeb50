package import PushWire

/// The body of an answer: how it is written, and its schema.
package protocol AnswerBody: Sendable {
    static var mediaType: String { get }
    func bytes() throws -> [UInt8]
    static func schema(in book: inout NamedSchemas) -> JSONValue
    /// Returns the schema of each line, if the body has lines.
    static func lineSchema(in book: inout NamedSchemas) -> JSONValue?
}

extension AnswerBody {
    package static func lineSchema(in book: inout NamedSchemas) -> JSONValue? { nil }
}

/// An answer in JSON. Its schema is found by decoding: `init(from:)` names the members and their types.
package protocol JSONAnswer: AnswerBody, Codable {
    /// The meanings of the members, by their names in JSON.
    static var about: [String: String] { get }
}

extension JSONAnswer {
    package static var mediaType: String { "application/json; charset=utf-8" }
    package static var about: [String: String] { [:] }

    package func bytes() throws -> [UInt8] { try APIAnswer.bytes(of: self) }

    package static func schema(in book: inout NamedSchemas) -> JSONValue { book.schema(of: Self.self) }
}

/// An answer whose bytes are written elsewhere, such as lines of events.
package struct WrittenAnswer<Kind: WrittenKind>: AnswerBody {
    package static var mediaType: String { Kind.mediaType }
    private let content: [UInt8]

    package init(_ content: [UInt8]) {
        self.content = content
    }

    package func bytes() -> [UInt8] { content }

    package static func schema(in book: inout NamedSchemas) -> JSONValue { Kind.schema(in: &book) }
    package static func lineSchema(in book: inout NamedSchemas) -> JSONValue? { Kind.lineSchema(in: &book) }
}

package protocol WrittenKind: Sendable {
    static var mediaType: String { get }
    static var schema: JSONValue { get }
    /// The name of the schema in the documentation; nil for one that is not worth a name.
    static var schemaName: String? { get }
    /// Returns the schema of each line, if the body has lines.
    static func lineSchema(in book: inout NamedSchemas) -> JSONValue?
}

extension WrittenKind {
    package static var schemaName: String? { nil }
    package static func lineSchema(in book: inout NamedSchemas) -> JSONValue? { nil }

    static func schema(in book: inout NamedSchemas) -> JSONValue {
        schemaName.map { book.schema(named: $0, schema) } ?? schema
    }
}

package enum PlainTextKind: WrittenKind {
    package static var mediaType: String { "text/plain; charset=utf-8" }
    package static var schema: JSONValue { ["type": "string"] }
}

/// One JSON object on each line.
package protocol WrittenLines: WrittenKind {}

extension WrittenLines {
    package static var mediaType: String { "application/x-ndjson; charset=utf-8" }
    package static var schema: JSONValue { ["type": "string", "description": "One JSON object on each line."] }
}

package enum JSONObjectKind: WrittenKind {
    package static var mediaType: String { "application/json; charset=utf-8" }
    package static var schema: JSONValue { ["type": "object"] }
}
