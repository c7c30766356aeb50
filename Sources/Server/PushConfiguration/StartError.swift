/// The reason why a configuration cannot be used or a server cannot start: what happened, where, and what to do.
package struct StartError: Error, Sendable, CustomStringConvertible {
    /// The kind of a fault, by who can correct it and how.
    package enum Code: Sendable, Hashable, CaseIterable {
        /// A setting, or a file that a setting names, is wrong.
        case configuration
        /// This user may not use a file or directory.
        case notPermitted
        /// An address is taken, or is not one of this machine.
        case unavailable
        /// Another process uses the data directory; a later attempt may succeed.
        case tryAgain
        /// The content of a file is not of the expected kind.
        case badInput
        case failed
    }

    package let code: Code
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Joins several faults into one error with the gravest code, or returns nil if there are none.
    ///
    /// Faults that a person has to correct go before those that may pass.
    package static func joined(_ faults: [StartError]) -> StartError? {
        let order: [Code] = [.configuration, .notPermitted, .unavailable, .tryAgain, .badInput, .failed]
        let codes = Set(faults.map(\.code))
        guard let gravest = order.first(where: codes.contains) else { return nil }
        return StartError(gravest, faults.map(\.description).joined(separator: "\n"))
    }
}
