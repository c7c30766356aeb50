/// An error of the files in the data directory, or of the database of a cluster.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable {
        private enum Value {
            case cannotOpen, cannotRead, cannotWrite, full, damaged, newerVersion, unsuitable, notPermitted
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
        /// The store is not in the state that a command needs, such as an initialized one.
        package static let unsuitable = Code(value: .unsuitable)
        /// The user of the database lacks a right.
        package static let notPermitted = Code(value: .notPermitted)
    }

    package let code: Code
    /// The event, the file and the remedy, as a text for operators.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
