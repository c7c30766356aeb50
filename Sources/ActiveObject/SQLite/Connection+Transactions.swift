private import CSQLite

/// What a connection knows of its transaction.
struct TransactionState {
    /// It has begun and not ended, as far as we know. SQLite may know better.
    var isOurs = false
    /// What made SQLite undo it by itself.
    var undoing: ActiveObjectError?
}

extension Connection {
    /// Begins a transaction that writes, unless the file is only read.
    func begin() throws {
        // Were one left open by what failed before, everybody after it would fail too.
        if isInTransaction { rollBack() }
        try control(isReadOnly ? "BEGIN" : "BEGIN IMMEDIATE")
        transaction.isOurs = true
    }

    /// Begins to read one state of the file: the one of now.
    func beginReading() throws {
        if isInTransaction { rollBack() }
        try control("BEGIN")
        // BEGIN by itself picks no state yet.
        try withStatement("SELECT 1 FROM sqlite_schema") { _ = try $0.step() }
    }

    /// Throws, and nothing was committed, if the call was cancelled or SQLite has undone the transaction already. What
    /// is cancelled later is committed all the same.
    func commit() throws {
        let first = transaction.undoing
        switch interruption.disarm() {
        case .cancelled: throw CancellationError()
        case .undone: throw undone(by: first)
        case .none: break
        }
        try control("COMMIT")
        transaction.isOurs = false
    }

    /// Undoes the transaction, if there still is one, whatever state it is in.
    func rollBack() {
        transaction.isOurs = false
        transaction.undoing = nil
        _ = interruption.disarm()
        guard isInTransaction else { return }
        // A statement in use would go on holding the state that it reads.
        var statement = unsafe sqlite3_next_stmt(handle, nil)
        while let one = unsafe statement {
            if unsafe sqlite3_stmt_busy(one) != 0 { unsafe sqlite3_reset(one) }
            unsafe statement = sqlite3_next_stmt(handle, one)
        }
        // All that SQLite could say against it is that it has been done.
        _ = try? control("ROLLBACK")
    }

    /// Undoes the transaction before its closure has ended. What the closure does from here on fails.
    func undo(because error: any Error) {
        rollBack()
        transaction.undoing = error as? ActiveObjectError ?? ActiveObjectError(.other, "\(error)")
        interruption.noteUndone()
    }

    /// Runs a statement that begins or ends a transaction or a savepoint, or sets what raw SQL must not. Returns the
    /// text that it answers with.
    @discardableResult
    func control(_ sql: String) throws -> String? {
        callbacks.isControlling = true
        defer { callbacks.isControlling = false }
        return try withStatement(sql) { statement in
            guard try statement.step() else { return nil }
            let answer = statement.valueClass(0) == .text ? try statement.text(0) : nil
            while try statement.step() {}
            return answer
        }
    }

    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    // MARK: Those that SQLite has undone

    /// Some errors undo the whole transaction; SQLite does not say so with the error.
    func noteIfUndone(by error: ActiveObjectError) {
        guard transaction.isOurs, !isInTransaction, transaction.undoing == nil else { return }
        transaction.undoing = error
        interruption.noteUndone()
    }

    /// Why nothing more may run in this call.
    func stopped() -> ActiveObjectError {
        if interruption.reason == .undone { return undone(by: transaction.undoing) }
        return ActiveObjectError(.interrupted, "the task was cancelled: nothing more of it is done in \(path)")
    }

    private func undone(by error: ActiveObjectError?) -> ActiveObjectError {
        ActiveObjectError(
            error?.code ?? .other,
            """
            the transaction has been undone as a whole already, and nothing can be added to it; let the error that did \
            it leave the closure: \(error?.message ?? "unknown")
            """, table: error?.table, column: error?.column, resultCode: error?.resultCode)
    }
}
