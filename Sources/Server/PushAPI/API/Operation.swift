package import PushModel
package import PushTransport
package import PushWire

/// The declaration of an endpoint: everything except its input, its answer and its code.
package struct Operation: Sendable {
    package enum Access: Sendable, Equatable {
        /// No key is needed.
        case open
        /// One of these roles is needed.
        case roles([Role])
    }

    package enum Body: Sendable {
        case none
        case json
        case jsonOrForm
        case form
        /// The endpoint reads the bytes itself. They have one of these media types, the first if none is given.
        case raw([Content])

        /// Returns whether bodies of a media type are accepted.
        func accepts(_ type: String) -> Bool {
            if case .raw(let contents) = self { return acceptsAnyType || contents.contains { $0.type == type } }
            return types.contains(type)
        }

        /// Whether bodies of any media type are accepted.
        var acceptsAnyType: Bool {
            if case .raw(let contents) = self { return contents.contains { $0.type == Self.anyType } }
            return false
        }

        /// The media types that are accepted.
        var types: [String] {
            switch self {
            case .none: []
            case .json: [Self.jsonType]
            case .jsonOrForm: [Self.jsonType, Self.formType]
            case .form: [Self.formType]
            case .raw(let contents): contents.map(\.type)
            }
        }

        static let jsonType = "application/json"
        static let formType = "application/x-www-form-urlencoded"
        /// In the place of a media type: the type that a client names is not looked at.
        static let anyType = "*/*"
        /// One JSON object on each line.
        static let linesType = "application/x-ndjson"
    }

    /// The description of a body that the endpoint reads itself. Schema and example are made anew for each document, so
    /// that no request pays for them.
    package struct Content: Sendable {
        package let type: String
        package let schema: @Sendable () -> JSONValue
        /// The name of the schema, or of that of each line.
        package let schemaName: String
        /// The schemas to which it refers, by name.
        package let parts: @Sendable () -> [String: JSONValue]
        /// Whether the schema is that of each line.
        package let isLines: Bool
        /// A body that is accepted: JSON, or the text of another type.
        package let example: @Sendable () -> JSONValue

        package init(
            _ type: String, schema: @autoclosure @escaping @Sendable () -> JSONValue, named schemaName: String,
            parts: @autoclosure @escaping @Sendable () -> [String: JSONValue] = [:], isLines: Bool = false,
            example: @autoclosure @escaping @Sendable () -> JSONValue
        ) {
            self.type = type
            self.schema = schema
            self.schemaName = schemaName
            self.parts = parts
            self.isLines = isLines
            self.example = example
        }
    }

    /// A possible answer, for the documentation.
    package struct Answer: Sendable {
        package let status: Int
        package let about: String
        /// The kinds of its body, if it is not the usual one of the endpoint.
        package let kinds: [any WrittenKind.Type]
        /// The meanings of its own header fields, by name.
        package let headers: [String: String]

        package init(
            _ status: Int, about: String, kinds: [any WrittenKind.Type] = [], headers: [String: String] = [:]
        ) {
            self.status = status
            self.about = about
            self.kinds = kinds
            self.headers = headers
        }
    }

    package let method: HTTP1Method
    /// The path, with parameters in braces, such as `/v1/gateways/{app}`.
    package let path: String
    /// The name of the operation in `/openapi.json`, from which generators make the names of methods. It never changes.
    package let id: String
    package let access: Access
    /// The subject, which groups endpoints in the documentation.
    package let subject: String
    /// One line that says what the operation does.
    package let summary: String
    package let body: Body
    /// A body that is accepted. Bodies that the endpoint reads itself have their own.
    package let example: @Sendable () -> JSONValue?
    package let answers: [Answer]
    /// The problems of this operation, in addition to those that any request may have.
    package let problems: [ProblemCode]
    /// Whether the bearer secret of a key may also be in the header `X-API-Key`.
    package let takesKeyField: Bool
    /// The kinds of the events by which it is recorded that an operator has done this. An operation that changes
    /// something for operators has at least one.
    package let records: [EventKind]

    package init(
        _ method: HTTP1Method, at path: String, id: String, access: Access, subject: String, summary: String,
        body: Body = .none,
        example: @autoclosure @escaping @Sendable () -> JSONValue? = nil,
        answers: [Answer] = [Answer(200, about: "The answer.")], problems: [ProblemCode] = [],
        takesKeyField: Bool = false, records: [EventKind] = []
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.access = access
        self.subject = subject
        self.summary = summary
        self.body = body
        self.example = example
        self.answers = answers
        self.problems = problems
        self.takesKeyField = takesKeyField
        self.records = records
    }

    /// Returns the same operation at another path.
    package func moved(to path: String) -> Operation {
        Operation(
            method, at: path, id: id, access: access, subject: subject, summary: summary, body: body,
            example: example(), answers: answers, problems: problems, takesKeyField: takesKeyField, records: records)
    }

    /// The methods that are answered: a GET endpoint also answers HEAD, whose answer has no body.
    package var methods: [HTTP1Method] { method == .get ? [.get, .head] : [method] }

    /// Whether the operation changes nothing, so that it may end with its client.
    var isReading: Bool { method == .get || access == .role(.observe) }

    func allows(_ method: HTTP1Method) -> Bool { method == self.method || (method == .head && self.method == .get) }
}

extension Operation.Access {
    package static func role(_ role: Role) -> Operation.Access { .roles([role]) }
}
