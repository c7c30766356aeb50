package import PushWire

/// The body of an answer: how it is written, and its schema.
package protocol AnswerBody: Sendable {
    static var mediaType: String { get }
    func bytes() throws -> [UInt8]
    static func schema(in book: inout SchemaBook) -> JSONValue
}

/// An answer in JSON. Its schema is found by decoding: `init(from:)` names the members and their types.
package protocol JSONAnswer: AnswerBody, Codable {
    /// The meanings of the members, by their names in JSON.
    static var about: [String: String] { get }
}

extension JSONAnswer {
    package static var mediaType: String { "application/json; charset=utf-8" }
    package static var about: [String: String] { [:] }

    package func bytes() throws -> [UInt8] { try AdminAnswer.bytes(of: self) }

    package static func schema(in book: inout SchemaBook) -> JSONValue { book.schema(of: Self.self) }
}

/// An answer whose bytes are written elsewhere, such as lines of events.
package struct WrittenAnswer<Kind: WrittenKind>: AnswerBody {
    package static var mediaType: String { Kind.mediaType }
    private let content: [UInt8]

    package init(_ content: [UInt8]) {
        self.content = content
    }

    package func bytes() -> [UInt8] { content }

    package static func schema(in book: inout SchemaBook) -> JSONValue { Kind.schema }
}

package protocol WrittenKind: Sendable {
    static var mediaType: String { get }
    static var schema: JSONValue { get }
}

package enum PlainTextKind: WrittenKind {
    package static var mediaType: String { "text/plain; charset=utf-8" }
    package static var schema: JSONValue { ["type": "string"] }
}

/// One JSON object on each line.
package enum LinesKind: WrittenKind {
    package static var mediaType: String { "application/x-ndjson; charset=utf-8" }
    package static var schema: JSONValue { ["type": "string", "description": "one JSON object on each line"] }
}

package enum JSONObjectKind: WrittenKind {
    package static var mediaType: String { "application/json; charset=utf-8" }
    package static var schema: JSONValue { ["type": "object"] }
}
