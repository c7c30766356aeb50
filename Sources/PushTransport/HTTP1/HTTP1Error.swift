/// What went wrong at the HTTP/1.1 server's own side. What a client does wrong is an `HTTP1Refusal`, not an error.
package struct HTTP1Error: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable {
        private enum Value: Hashable, Sendable {
            case cannotListen, inUse, badAddress, badHeader, badStatus, alreadyAnswered, closed
        }

        private let value: Value

        /// The system refused the socket; the underlying error says why.
        package static let cannotListen = Code(value: .cannotListen)
        /// Somebody else listens there.
        package static let inUse = Code(value: .inUse)
        package static let badAddress = Code(value: .badAddress)
        /// An answer's header would have broken the framing; nothing went out.
        package static let badHeader = Code(value: .badHeader)
        package static let badStatus = Code(value: .badStatus)
        package static let alreadyAnswered = Code(value: .alreadyAnswered)
        /// The server was drained or closed.
        package static let closed = Code(value: .closed)
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)?

    init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    package var description: String {
        underlying.map { "\(message): \($0)" } ?? message
    }
}

/// Why a request is answered without having been handed on: a status and one sentence for the client.
struct HTTP1Refusal: Error, Equatable, Sendable {
    let status: Int
    let sentence: String

    init(_ status: Int, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}
