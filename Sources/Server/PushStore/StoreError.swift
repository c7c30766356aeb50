/// An error of the files in the data directory, or of the database of a cluster.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case cannotOpen, cannotRead, cannotWrite
        /// The disk is full, or a quota or file size limit is reached.
        case full
        case damaged
        /// The file was written by a newer version of Carillon.
        case newerVersion
        /// The store is not in the state that a command needs, such as an initialized one.
        case unsuitable
        /// The user of the database lacks a right.
        case notPermitted
    }

    package let code: Code
    /// The event, the file and the remedy, as a text for operators.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
