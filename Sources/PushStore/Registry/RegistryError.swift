/// What the registry could not do, and who has to do something about it.
package struct RegistryError: Error, Sendable, Equatable, CustomStringConvertible {
    package struct Code: Hashable, Sendable {
        private enum Value {
            case busy, cannotPublish, damaged
        }

        private let value: Value

        /// Too many wait for their turn to write.
        package static let busy = Code(value: .busy)
        /// The ledger did not take the event without which nothing is done.
        package static let cannotPublish = Code(value: .cannotPublish)
        package static let damaged = Code(value: .damaged)
    }

    package let code: Code
    /// What happened, what to do.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
