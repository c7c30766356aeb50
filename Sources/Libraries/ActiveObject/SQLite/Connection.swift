import PushSQLite

/// A connection to a database file, with its prepared statements.
///
/// It is not `Sendable`: it belongs to the actor that created it and is used on that actor's thread only.
final class Connection {
    let database: DatabaseHandle
    /// Records the changes of each transaction. Only a writer has one.
    var recorder: (any TransactionRecorder)?
    let path: String
    let interruption: Interruption
    private var isOpen = true
    private var statements = StatementCache()

    let callbacks: ConnectionCallbacks
    /// The number of pages in the log when `checkpointIfDue` last waited for readers.
    var logPagesAtLastWait = 0
    var transaction = TransactionState()

    init(
        path: String, mode: DatabaseHandle.Mode, interruption: Interruption = Interruption()
    ) throws(ActiveObjectError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw ActiveObjectError(.cannotOpen, message: "cannot open a database: its path is empty or contains a NUL")
        }
        do {
            database = try DatabaseHandle(path: path, mode: mode)
        } catch {
            throw ActiveObjectError(error, action: "open \(path)", path: path, sql: nil) { _, _ in false }
        }
        self.path = path
        self.interruption = interruption
        callbacks = ConnectionCallbacks(interruption: interruption)
        // These features could be reached by a hostile file or a typo in raw SQL. This library does not need them.
        database.set(.defensive, to: true)
        database.set(.trustedSchema, to: false)
        database.set(.quotedTextsInStatements, to: false)
        database.set(.quotedTextsInSchema, to: false)
        callbacks.set(on: database)
    }

    deinit {
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        statements.removeAll()
        if !database.close() { assertionFailure("a statement of \(path) outlived its connection") }
    }

    // MARK: Statements

    /// Calls `body` with the cached statement for `sql`, and resets the statement afterwards.
    ///
    /// A `ColumnFault` that `body` throws becomes an error about the statement, so that callers only see
    /// `ActiveObjectError`.
    func withStatement<Result>(_ sql: String, body: (Statement) throws -> Result) throws -> Result {
        let statement = try take(sql)
        defer { giveBack(statement) }
        do {
            return try body(statement)
        } catch let fault as ColumnFault {
            throw fault.error(in: sql)
        }
    }

    /// Returns the statement for `sql`, for callers that cannot use a closure. Each `take` needs a `giveBack`. If the
    /// cached statement is in use, a new one is prepared.
    func take(_ sql: String) throws(ActiveObjectError) -> Statement {
        if let statement = statements.take(sql) { return statement }
        let statement = try prepare(sql)
        statements.add(statement)
        return statement
    }

    func giveBack(_ statement: Statement) {
        statement.reset()
        statement.isLent = false
    }

    /// Removes all cached statements, for callers that change how statements must be prepared.
    func dropStatements() {
        statements.removeAll()
    }

    private func prepare(_ sql: String) throws(ActiveObjectError) -> Statement {
        do {
            return Statement(try database.prepareOnly(sql), sql: sql, connection: self)
        } catch {
            switch error {
            case .containsNUL: throw ActiveObjectError(.badSQL, message: "cannot prepare: the SQL contains a NUL")
            case .noStatement: throw ActiveObjectError(.badSQL, message: "no statement in \"\(sql.shownSQL)\"")
            case .severalStatements:
                throw ActiveObjectError(
                    .badSQL, message: "more than one statement in \"\(sql.shownSQL)\"; run one at a time")
            case .failed(let failure): throw self.error(failure, doing: "prepare", sql: sql)
            }
        }
    }

    /// Runs statements without parameters one after the other, and ignores their rows.
    func run(_ sql: String) throws(ActiveObjectError) {
        if interruption.isRequested { throw stopped() }
        do {
            try database.execute(sql)
        } catch {
            throw self.error(error, doing: "run", sql: sql)
        }
    }

    // MARK: State

    /// The rowid that the last INSERT inserted. Nil if it inserted none, because of ON CONFLICT IGNORE or
    /// RAISE(IGNORE); then SQLite's last rowid is that of another row.
    var insertedID: Int64? { database.changes == 0 ? nil : database.lastInsertedRowID }

    /// The number of rows that the last statement changed.
    var changes: Int { database.changes }
    /// The number of rows changed since the connection was opened, including those changed by triggers and foreign
    /// keys.
    var totalChanges: Int { database.totalChanges }
    var isReadOnly: Bool { database.isReadOnly }
    var cachedStatementCount: Int { statements.count }
    /// The number of times that a statement was lent.
    var uses: UInt64 { statements.uses }

    // MARK: Errors

    /// Returns the error for a failure of SQLite.
    func error(_ failure: SQLiteFailure, doing action: String, sql: String? = nil) -> ActiveObjectError {
        let error = ActiveObjectError(failure, action: action, path: path, sql: sql) {
            database.hasColumn($1, in: $0)
        }
        recordRollback(ifCausedBy: error)
        return error
    }
}
