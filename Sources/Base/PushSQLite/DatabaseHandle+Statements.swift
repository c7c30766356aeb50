import CSQLite

/// A text that is not exactly one statement.
package enum RejectedSQL: Error {
    /// SQLite would stop at a NUL and ignore the rest.
    case containsNUL
    case noStatement
    case severalStatements
    case failed(SQLiteFailure)
}

extension DatabaseHandle {
    /// Runs statements without parameters one after the other, and ignores their rows.
    package func execute(_ sql: String) throws(SQLiteFailure) {
        let code = unsafe sqlite3_exec(pointer, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// Prepares one statement that the source code contains.
    package func prepare(_ sql: StaticString) throws(SQLiteFailure) -> StatementHandle {
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            pointer, UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self), -1,
            UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let statement = unsafe prepared else { throw failure(code) }
        return unsafe StatementHandle(statement)
    }

    /// Prepares one statement, and rejects a text that has none or more than one.
    package func prepareOnly(_ sql: String) throws(RejectedSQL) -> StatementHandle {
        guard !sql.utf8.contains(0) else { throw .containsNUL }
        var sql = sql
        var prepared: OpaquePointer?
        var hasMore = false
        let code = sql.withUTF8 { text in
            guard let count = Int32(exactly: text.count) else { return SQLITE_TOOBIG }
            return unsafe text.withMemoryRebound(to: CChar.self) { text in
                var rest: UnsafePointer<CChar>?
                let code = unsafe sqlite3_prepare_v3(
                    pointer, text.baseAddress, count, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, &rest)
                if code == SQLITE_OK, let rest = unsafe rest, let start = text.baseAddress {
                    unsafe hasMore = hasStatement(rest, count: count - Int32(rest - start))
                }
                return code
            }
        }
        guard code == SQLITE_OK else { throw .failed(failure(code)) }
        guard let pointer = unsafe prepared else { throw .noStatement }
        let statement = unsafe StatementHandle(pointer)
        guard !hasMore else { throw .severalStatements }
        return statement
    }

    /// Returns whether the text contains more than whitespace and comments.
    @unsafe
    private func hasStatement(_ text: UnsafePointer<CChar>, count: Int32) -> Bool {
        guard count > 0 else { return false }
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(pointer, text, count, 0, &prepared, nil)
        unsafe sqlite3_finalize(prepared)
        return unsafe code != SQLITE_OK || prepared != nil
    }

    /// Resets all statements that have begun and not ended. They would keep their state of the file.
    package func resetRunningStatements() {
        var statement = unsafe sqlite3_next_stmt(pointer, nil)
        while let one = unsafe statement {
            if unsafe sqlite3_stmt_busy(one) != 0 { unsafe sqlite3_reset(one) }
            unsafe statement = sqlite3_next_stmt(pointer, one)
        }
    }
}
