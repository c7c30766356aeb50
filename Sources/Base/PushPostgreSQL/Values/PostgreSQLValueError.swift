/// The error of a value that has another type or size than its reader expects, or is null.
package struct PostgreSQLValueError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String

    init(message: String) {
        self.message = message
    }

    package var description: String { message }
}
