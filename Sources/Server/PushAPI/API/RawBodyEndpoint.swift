package import PushModel

/// An endpoint that parses its body itself, because a form cannot describe it. It answers as a task.
package protocol RawBodyEndpoint: Sendable {
    associatedtype Input: EndpointInput = NoInput
    associatedtype Output: AnswerBody
    static var operation: Operation { get }

    func answer(_ input: Input, body: [UInt8], for caller: Caller) async throws -> Reply<Output>
}
