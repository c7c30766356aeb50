/// A notice or warning that the server sent. An idle connection also receives the error with which the server ends it.
package struct PostgreSQLNotice: Hashable, Sendable, CustomStringConvertible {
    /// The severity in English: `WARNING`, `NOTICE`, `INFO`, `LOG`, `DEBUG`, `ERROR`, `FATAL`, or `PANIC`.
    package let severity: String
    package let sqlState: SQLState
    package let message: String
    /// The function of the server that sent the notice.
    package let function: String?

    package init(severity: String, sqlState: SQLState, message: String, function: String? = nil) {
        self.severity = severity
        self.sqlState = sqlState
        self.message = message
        self.function = function
    }

    /// Whether the durability of a commit is in doubt: its wait for the synchronous standby was canceled, and it is
    /// committed on the primary only.
    ///
    /// The text depends on the server's language. The function and the class of the warning do not. Servers send no
    /// other warnings of this class for statements without user-defined functions.
    package var questionsCommit: Bool {
        severity == "WARNING" && (sqlState == .warning || function == "SyncRepWaitForLSN")
    }

    package var endsConnection: Bool { severity == "FATAL" || severity == "PANIC" }

    package var description: String { "\(severity): \(message) (SQLSTATE \(sqlState))" }
}
