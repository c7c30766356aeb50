/// An error on the server's own side. Errors of clients are ``HTTP1Refusal`` values.
package struct HTTP1Error: Error, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The system refused the socket. The underlying error contains the reason.
        case cannotListen
        /// Another process listens at the address.
        case inUse
        case badAddress
        /// A header of an answer would have broken the framing. Nothing was sent.
        case badHeader
        case badStatus, alreadyAnswered
        /// The server was drained or closed.
        case closed
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)?

    init(_ code: Code, message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    package var description: String {
        underlying.map { "\(message): \($0)" } ?? message
    }
}
