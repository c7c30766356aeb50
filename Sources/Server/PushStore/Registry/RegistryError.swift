/// An error of a registry operation.
package struct RegistryError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// Too many calls wait to write.
        case busy
        /// The ledger did not accept the event, so the operation was not carried out.
        case cannotPublish
        /// The file cannot grow. Nothing was changed.
        case cannotWrite
        case damaged
        /// The database does not answer. A change may have been carried out, and is to be repeated.
        case unavailable
    }

    package let code: Code
    /// The event and the remedy, as a text for operators.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
