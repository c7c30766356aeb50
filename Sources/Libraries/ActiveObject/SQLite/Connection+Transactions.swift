import PushSQLite

/// The state of a connection's transaction.
struct TransactionState {
    /// Whether this library has begun a transaction and not ended it. SQLite may have rolled it back since.
    var isOurs = false
    /// The error because of which SQLite rolled back the transaction on its own.
    var rollbackCause: ActiveObjectError?
}

extension Connection {
    /// Begins a transaction that writes, or one that reads if the file is read-only.
    func begin() throws {
        // A transaction that an earlier failure left open would make all later ones fail.
        if isInTransaction { rollBack() }
        try control(isReadOnly ? "BEGIN" : "BEGIN IMMEDIATE")
        transaction.isOurs = true
    }

    /// Begins to read one state of the file: the current one.
    func beginReading() throws {
        if isInTransaction { rollBack() }
        try control("BEGIN")
        // BEGIN alone does not pick a state of the file; the first read does.
        try withStatement("SELECT 1 FROM sqlite_schema") { _ = try $0.step() }
    }

    /// Commits. Throws, without a commit, if the call was cancelled or SQLite has already rolled back the transaction.
    /// A later cancellation has no effect.
    func commit() throws {
        let cause = transaction.rollbackCause
        switch interruption.disarm() {
        case .cancelled: throw CancellationError()
        case .rolledBack: throw rolledBack(by: cause)
        case .none: break
        }
        try control("COMMIT")
        transaction.isOurs = false
    }

    /// Rolls back the transaction if there is one, whatever its state.
    func rollBack() {
        transaction.isOurs = false
        transaction.rollbackCause = nil
        _ = interruption.disarm()
        guard isInTransaction else { return }
        // A statement that is still in use would keep its state of the file.
        database.resetRunningStatements()
        // ROLLBACK can only fail if the transaction has already ended.
        _ = try? control("ROLLBACK")
    }

    /// Rolls back the transaction before its closure has ended. Further statements of the closure fail.
    func rollBack(because error: any Error) {
        rollBack()
        transaction.rollbackCause = error as? ActiveObjectError ?? ActiveObjectError(.other, message: "\(error)")
        interruption.recordRollback()
    }

    /// Runs a statement that begins or ends a transaction or a savepoint, or that changes a setting which raw SQL must
    /// not change. Returns the text in its first row.
    @discardableResult
    func control(_ sql: String) throws -> String? {
        callbacks.isControlling = true
        defer { callbacks.isControlling = false }
        return try withStatement(sql) { statement in
            guard try statement.step() else { return nil }
            let text = statement.valueClass(0) == .text ? try statement.text(0) : nil
            while try statement.step() {}
            return text
        }
    }

    var isInTransaction: Bool { database.isInTransaction }

    // MARK: Transactions that SQLite rolled back

    /// Records that `error` made SQLite roll back the whole transaction. The error itself does not contain this.
    func recordRollback(ifCausedBy error: ActiveObjectError) {
        guard transaction.isOurs, !isInTransaction, transaction.rollbackCause == nil else { return }
        transaction.rollbackCause = error
        interruption.recordRollback()
    }

    /// Returns the error for a statement that must not run in this call.
    func stopped() -> ActiveObjectError {
        if interruption.reason == .rolledBack { return rolledBack(by: transaction.rollbackCause) }
        return ActiveObjectError(.interrupted, message: "the task was cancelled; no further statement runs in \(path)")
    }

    private func rolledBack(by error: ActiveObjectError?) -> ActiveObjectError {
        ActiveObjectError(
            error?.code ?? .other,
            message: """
                the transaction has already been rolled back as a whole, and no further statement can run in it; let \
                the error that caused this leave the closure: \(error?.message ?? "unknown")
                """, table: error?.table, column: error?.column, resultCode: error?.resultCode, cause: error?.cause)
    }
}
