/// An error that the server sent.
package struct PostgreSQLFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let sqlState: SQLState
    /// Whether the server ends the connection with this error.
    package let isFatal: Bool
    package let message: String
    /// The server's second line. It may contain values of the row.
    package let detail: String?
    package let constraint: String?

    package init(
        sqlState: SQLState, isFatal: Bool = false, message: String, detail: String? = nil, constraint: String? = nil
    ) {
        self.sqlState = sqlState
        self.isFatal = isFatal
        self.message = message
        self.detail = detail
        self.constraint = constraint
    }

    package var description: String { "\(message) (SQLSTATE \(sqlState))" }
}
