import PushModel
import PushText
import PushTransport
package import PushWire

/// An endpoint of any type, as a table holds it.
package struct AnyEndpoint: Sendable {
    typealias Parameters = [String: String]

    enum Handling: Sendable {
        case immediate(@Sendable (HTTP1Request, Parameters, Caller) -> AdminAnswer)
        case task(@Sendable (HTTP1Request, Parameters, Caller) async -> AdminAnswer)
        case responding(@Sendable (HTTP1Request, Parameters, Caller, HTTP1Responder) throws(Problem) -> Void)
    }

    package let operation: Operation
    package let input: InputDeclaration
    package let mediaType: String
    /// Returns the schema of the answer. It is called only for the documentation.
    package let answerSchema: @Sendable (inout SchemaBook) -> JSONValue
    let handling: Handling

    package init<E: Endpoint>(_ endpoint: E) {
        self.init(E.operation, input: E.Input.self, output: E.Output.self) { input in
            .task { request, parameters, caller in
                await Self.answer { () async throws in
                    try await endpoint.answer(try input(request, parameters), for: caller)
                }
            }
        }
    }

    package init<E: RawBodyEndpoint>(raw endpoint: E) {
        self.init(E.operation, input: E.Input.self, output: E.Output.self) { input in
            .task { request, parameters, caller in
                await Self.answer { () async throws in
                    try await endpoint.answer(try input(request, parameters), body: request.body, for: caller)
                }
            }
        }
    }

    package init<E: ImmediateEndpoint>(now endpoint: E) {
        self.init(E.operation, input: E.Input.self, output: E.Output.self) { input in
            .immediate { request, parameters, caller in
                do {
                    return try AdminAnswer(try endpoint.answerNow(try input(request, parameters), for: caller))
                } catch {
                    return AdminAnswer(failedBy: error)
                }
            }
        }
    }

    package init<E: RespondingEndpoint>(responding endpoint: E) {
        self.init(E.operation, input: E.Input.self, output: E.Output.self) { input in
            .responding { (request, parameters, caller, responder) throws(Problem) in
                try endpoint.begin(
                    try input(request, parameters), of: request, for: caller, responder: responder)
            }
        }
    }

    private typealias InputMaker<Input> = @Sendable (HTTP1Request, Parameters) throws(Problem) -> Input

    private init<Input: EndpointInput, Output: AnswerBody>(
        _ operation: Operation, input: Input.Type, output: Output.Type,
        handling: (@escaping InputMaker<Input>) -> Handling
    ) {
        self.operation = operation
        var declaration = InputReader()
        _ = Input(&declaration)
        self.input = declaration.declared
        mediaType = Output.mediaType
        answerSchema = { Output.schema(in: &$0) }
        self.handling = handling { (request, parameters) throws(Problem) in
            try RequestInput.read(request, parameters: parameters, body: operation.body)
        }
    }

    private static func answer<Body: AnswerBody>(_ make: () async throws -> Reply<Body>) async -> AdminAnswer {
        do {
            return try AdminAnswer(try await make())
        } catch {
            return AdminAnswer(failedBy: error)
        }
    }
}

extension AdminAnswer {
    init<Body: AnswerBody>(_ reply: Reply<Body>) throws {
        self.init(status: reply.status, body: try reply.body.bytes(), type: Body.mediaType, headers: reply.headers)
    }

    init(failedBy error: any Error) {
        let refusal = (error as? AccessRefusal).map { Problem($0) }
        self.init(error as? Problem ?? refusal ?? Problem(.internal, detail: "\(error)"))
    }
}
