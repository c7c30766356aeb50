package import PushModel
package import PushTransport

/// The declaration of an endpoint: everything except its input, its answer and its code.
package struct Operation: Sendable {
    package enum Access: Sendable, Equatable {
        /// No key is needed.
        case open
        /// One of these roles is needed.
        case roles([Role])
    }

    package enum Body: Sendable, Equatable {
        case none
        case json
        case jsonOrForm
        case form
        /// The endpoint reads the bytes itself. They have one of these media types, the first if none is given.
        case raw([String])
    }

    /// A possible answer, for the documentation.
    package struct Answer: Sendable {
        package let status: Int
        package let about: String

        package init(_ status: Int, about: String) {
            self.status = status
            self.about = about
        }
    }

    package let method: HTTP1Method
    /// The path, with parameters in braces, such as `/v1/gateways/{app}`.
    package let path: String
    package let access: Access
    /// The subject, which groups endpoints in the documentation.
    package let subject: String
    /// One line that says what the operation does.
    package let summary: String
    package let body: Body
    package let answers: [Answer]
    /// The problems of this operation, in addition to those that any request may have.
    package let problems: [ProblemCode]

    package init(
        _ method: HTTP1Method, at path: String, access: Access, subject: String, summary: String, body: Body = .none,
        answers: [Answer] = [Answer(200, about: "The answer.")], problems: [ProblemCode] = []
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.subject = subject
        self.summary = summary
        self.body = body
        self.answers = answers
        self.problems = problems
    }

    /// The methods that are answered: a GET endpoint also answers HEAD, whose answer has no body.
    package var methods: [HTTP1Method] { method == .get ? [.get, .head] : [method] }
}

extension Operation.Access {
    package static func role(_ role: Role) -> Operation.Access { .roles([role]) }
}
