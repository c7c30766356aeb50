import PushModel
import PushStore
import PushText
package import PushTransport
package import PushWire

/// An endpoint of any type, as a table holds it.
package struct AnyEndpoint: Sendable {
    typealias Parameters = [String: String]

    enum Handling: Sendable {
        case immediate(@Sendable (HTTP1Request, Parameters, Caller) -> APIAnswer)
        case task(@Sendable (HTTP1Request, Parameters, Caller) async -> APIAnswer)
        case responding(@Sendable (HTTP1Request, Parameters, Caller, HTTP1Responder) throws(Problem) -> Void)
    }

    package let operation: Operation
    /// The label of its requests in the metrics. All files of the console have one, because their paths change with the
    /// version.
    package let label: String
    package let input: InputDeclaration
    package let mediaType: String
    /// Returns the schema of the answer. It is called only for the documentation.
    package let answerSchema: @Sendable (inout NamedSchemas) -> JSONValue
    /// Returns the schema of each line of the answer, if it has lines.
    package let lineSchema: @Sendable (inout NamedSchemas) -> JSONValue?
    let handling: Handling
    /// The queue in which its requests wait for their turn; nil if they are short.
    private(set) var searches: SearchQueue?

    /// - Parameters:
    ///   - operation: the operation of the endpoint, if it is not the declared one.
    ///   - searches: the queue in which its requests wait for their turn.
    package init<E: Endpoint>(
        _ endpoint: E, as operation: Operation = E.operation, in searches: SearchQueue? = nil
    ) {
        self.init(operation, input: E.Input.self, output: E.Output.self) { input in
            .task { request, parameters, caller in
                await Self.answer { () async throws in
                    try await endpoint.answer(try input(request, parameters), for: caller)
                }
            }
        }
        self.searches = searches
    }

    package init<E: RawBodyEndpoint>(raw endpoint: E, in searches: SearchQueue? = nil) {
        self.init(E.operation, input: E.Input.self, output: E.Output.self) { input in
            .task { request, parameters, caller in
                await Self.answer { () async throws in
                    try await endpoint.answer(try input(request, parameters), body: request.body, for: caller)
                }
            }
        }
        self.searches = searches
    }

    package init<E: ImmediateEndpoint>(now endpoint: E) {
        self.init(E.operation, input: E.Input.self, output: E.Output.self) { input in
            .immediate { request, parameters, caller in
                do {
                    return try APIAnswer(try endpoint.answerNow(try input(request, parameters), for: caller))
                } catch {
                    return APIAnswer(failedBy: error)
                }
            }
        }
    }

    package init<E: RespondingEndpoint>(responding endpoint: E, as operation: Operation = E.operation) {
        self.init(operation, input: E.Input.self, output: E.Output.self) { input in
            .responding { (request, parameters, caller, responder) throws(Problem) in
                try endpoint.begin(
                    try input(request, parameters), of: request, for: caller, responder: responder)
            }
        }
    }

    /// An endpoint that answers every request with the same file.
    package init(file path: String, mediaType: String, content: [UInt8], headers: HTTP1Headers) {
        operation = Operation(
            .get, at: path, id: "getConsoleFile", access: .open, subject: "Console",
            summary: "Returns a static file of the console.")
        label = "/console"
        input = InputReader().declared
        self.mediaType = mediaType
        answerSchema = { _ in ["type": "string"] }
        lineSchema = { _ in nil }
        let answer = APIAnswer(status: 200, body: content, type: mediaType, headers: headers)
        handling = .immediate { _, _, _ in answer }
    }

    private typealias InputMaker<Input> = @Sendable (HTTP1Request, Parameters) throws(Problem) -> Input

    private init<Input: EndpointInput, Output: AnswerBody>(
        _ operation: Operation, input: Input.Type, output: Output.Type,
        handling: (@escaping InputMaker<Input>) -> Handling
    ) {
        self.operation = operation
        label = operation.path
        var declaration = InputReader()
        _ = Input(&declaration)
        self.input = declaration.declared
        mediaType = Output.mediaType
        answerSchema = { Output.schema(in: &$0) }
        lineSchema = { Output.lineSchema(in: &$0) }
        self.handling = handling { (request, parameters) throws(Problem) in
            try RequestInput.read(request, parameters: parameters, body: operation.body)
        }
    }

    private static func answer<Body: AnswerBody>(_ make: () async throws -> Reply<Body>) async -> APIAnswer {
        do {
            return try APIAnswer(try await make())
        } catch {
            return APIAnswer(failedBy: error)
        }
    }
}

extension APIAnswer {
    init<Body: AnswerBody>(_ reply: Reply<Body>) throws {
        self.init(status: reply.status, body: try reply.body.bytes(), type: Body.mediaType, headers: reply.headers)
        changes = reply.changes
    }

    init(failedBy error: any Error) {
        if let error = error as? RegistryError, error.code != .damaged {
            var problem = Problem(.unavailable, detail: error.description)
            problem.retryAfterMilliseconds = 1000
            self.init(problem)
            return
        }
        switch error {
        case let problem as Problem: self.init(problem)
        case let refusal as AccessRefusal: self.init(Problem(refusal))
        default: self.init(Problem(.internal, detail: "\(error)"))
        }
    }
}
