package import PushModel
package import PushTransport

/// The values of a request, as one type.
package protocol EndpointInput: Sendable {
    init(_ read: inout InputReader)
}

/// The input of an endpoint without any.
package struct NoInput: EndpointInput {
    package init(_ read: inout InputReader) {}
}

/// One operation of the API: a method and a path, with the code that answers.
///
/// An endpoint declares itself once. Authentication, validation, errors, metrics and its entry in `/openapi.json` follow
/// from the declaration. It answers as a task, so that it may wait for a store.
package protocol Endpoint: Sendable {
    associatedtype Input: EndpointInput = NoInput
    associatedtype Output: AnswerBody
    static var operation: Operation { get }

    /// Answers a request of a caller that has the role for it. Endpoints check the rights for apps themselves.
    ///
    /// - Throws: ``Problem`` for a request that is not carried out. Any other error is answered with status 500.
    func answer(_ input: Input, for caller: Caller) async throws -> Reply<Output>
}

/// An endpoint that answers at once, on the loop of its server.
package protocol ImmediateEndpoint: Sendable {
    associatedtype Input: EndpointInput = NoInput
    associatedtype Output: AnswerBody
    static var operation: Operation { get }

    func answerNow(_ input: Input, for caller: Caller) throws -> Reply<Output>
}

/// An endpoint that answers in its own time through the responder, such as a stream. It is called on the loop of its
/// server.
package protocol RespondingEndpoint: Sendable {
    associatedtype Input: EndpointInput = NoInput
    /// The body of the answer, for the documentation.
    associatedtype Output: AnswerBody
    static var operation: Operation { get }

    /// Begins the answer.
    ///
    /// - Throws: ``Problem``, if nothing was given to the responder.
    func begin(
        _ input: Input, of request: HTTP1Request, for caller: Caller, responder: HTTP1Responder
    ) throws(Problem)
}
