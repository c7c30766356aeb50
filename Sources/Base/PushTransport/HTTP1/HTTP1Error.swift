/// An error on the server's own side. Errors of clients are ``HTTP1Refusal`` values.
package struct HTTP1Error: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable {
        private enum Value: Hashable, Sendable {
            case cannotListen, inUse, badAddress, badHeader, badStatus, alreadyAnswered, closed
        }

        private let value: Value

        /// The system refused the socket. The underlying error contains the reason.
        package static let cannotListen = Code(value: .cannotListen)
        /// Another process listens at the address.
        package static let inUse = Code(value: .inUse)
        package static let badAddress = Code(value: .badAddress)
        /// A header of an answer would have broken the framing. Nothing was sent.
        package static let badHeader = Code(value: .badHeader)
        package static let badStatus = Code(value: .badStatus)
        package static let alreadyAnswered = Code(value: .alreadyAnswered)
        /// The server was drained or closed.
        package static let closed = Code(value: .closed)
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
