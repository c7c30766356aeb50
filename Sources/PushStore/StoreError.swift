/// An error of the files in the data directory.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable {
        private enum Value {
            case cannotOpen, cannotRead, cannotWrite, full, damaged, newerVersion
        }

        private let value: Value

        package static let cannotOpen = Code(value: .cannotOpen)
        package static let cannotRead = Code(value: .cannotRead)
        package static let cannotWrite = Code(value: .cannotWrite)
        /// The disk is full, or a quota or file size limit is reached.
        package static let full = Code(value: .full)
        package static let damaged = Code(value: .damaged)
        /// The file was written by a newer version of Carillon.
        package static let newerVersion = Code(value: .newerVersion)
    }

    package let code: Code
    /// The event, the file and the remedy, as a text for operators.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
