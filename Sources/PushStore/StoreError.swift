/// What went wrong with the files of the data directory.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable {
        private enum Value {
            case cannotOpen, cannotRead, cannotWrite, full, damaged, newerVersion
        }

        private let value: Value

        package static let cannotOpen = Code(value: .cannotOpen)
        package static let cannotRead = Code(value: .cannotRead)
        package static let cannotWrite = Code(value: .cannotWrite)
        /// The disk has no room.
        package static let full = Code(value: .full)
        package static let damaged = Code(value: .damaged)
        /// A newer Carillon wrote it.
        package static let newerVersion = Code(value: .newerVersion)
    }

    package let code: Code
    /// What happened, where, what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
