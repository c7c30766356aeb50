/// An error of the client itself: the library, the settings, or the connection.
package struct PostgreSQLError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String

    package init(message: String) {
        self.message = message
    }

    package var description: String { message }
}
