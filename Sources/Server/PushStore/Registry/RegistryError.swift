/// An error of a registry operation.
package struct RegistryError: Error, Sendable, Equatable, CustomStringConvertible {
    package struct Code: Hashable, Sendable {
        private enum Value {
            case busy, cannotPublish, cannotWrite, damaged, unavailable
        }

        private let value: Value

        /// Too many calls wait to write.
        package static let busy = Code(value: .busy)
        /// The ledger did not accept the event, so the operation was not carried out.
        package static let cannotPublish = Code(value: .cannotPublish)
        /// The file cannot grow. Nothing was changed.
        package static let cannotWrite = Code(value: .cannotWrite)
        package static let damaged = Code(value: .damaged)
        /// The database does not answer. A change may have been carried out, and is to be repeated.
        package static let unavailable = Code(value: .unavailable)
    }

    package let code: Code
    /// The event and the remedy, as a text for operators.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
