/// An error that the server sent.
package struct PostgreSQLFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let sqlState: SQLState
    /// Whether the server ends the connection with this error.
    package let isFatal: Bool
    package let message: String
    package let constraint: String?

    package init(
        sqlState: SQLState, isFatal: Bool = false, message: String, constraint: String? = nil
    ) {
        self.sqlState = sqlState
        self.isFatal = isFatal
        self.message = message
        self.constraint = constraint
    }

    /// Whether the error, which came in place of a commit, says for certain that nothing was committed.
    ///
    /// Violated constraints, conflicts, and errors of triggers do. Errors of the system and fatal ones may come while
    /// the server cleans up after the commit.
    var undoesCommit: Bool {
        !isFatal && !["08", "53", "57", "58", "F0", "XX"].contains(sqlState.rawValue.prefix(2))
    }

    package var description: String { "\(message) (SQLSTATE \(sqlState))" }
}
