import CSQLite

/// How much of the write-ahead log a checkpoint copies, and whether it waits.
package enum CheckpointMode {
    /// Copies as many pages as possible without waiting for readers or writers.
    case passive
    /// Waits for readers of older states, and copies everything.
    case full
    /// Does the same as `full`, and waits until no reader needs the log, so that the next commit writes at its start.
    case restart
    /// Does the same as `restart`, and truncates the log file to zero bytes.
    case truncate
}

/// The result of a checkpoint.
package struct CheckpointResult: Equatable, Sendable {
    package let pagesInLog: Int
    /// The number of pages of the log that are now in the file.
    package let pagesCopied: Int
    /// Whether the checkpoint completed its mode. If not, a reader or writer blocked it.
    package let isDone: Bool
}

/// How far a copy of a database has come.
package struct CopyProgress: Equatable, Sendable {
    package let copiedPages: Int
    /// The number of pages of the database; 0 before the first page was copied.
    package let pages: Int

    package init(copiedPages: Int, pages: Int) {
        self.copiedPages = copiedPages
        self.pages = pages
    }
}

extension DatabaseHandle {
    /// Copies pages of the write-ahead log into the file.
    @discardableResult
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteFailure) -> CheckpointResult {
        let number =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .full: SQLITE_CHECKPOINT_FULL
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var inLog: Int32 = 0
        var copied: Int32 = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(pointer, nil, number, &inLog, &copied)
        guard code == SQLITE_OK || code & 0xff == SQLITE_BUSY else { throw failure(code) }
        // Both numbers are -1 if there is no log.
        return CheckpointResult(
            pagesInLog: max(0, Int(inLog)), pagesCopied: max(0, Int(copied)), isDone: code == SQLITE_OK)
    }

    /// Copies this database into another one. Returns false if `mayContinue` stopped it; then the copy is incomplete.
    ///
    /// In a transaction that has read, the copy has the state that this transaction sees, however long it takes.
    ///
    /// - Parameters:
    ///   - pagesAtOnce: The number of pages between two calls of `mayContinue`.
    /// - Throws: The error of `target`.
    package func backUp(
        into target: DatabaseHandle, pagesAtOnce: Int32, while mayContinue: (CopyProgress) -> Bool
    ) throws(SQLiteFailure) -> Bool {
        guard let backup = unsafe sqlite3_backup_init(target.pointer, "main", pointer, "main") else {
            throw target.failure(unsafe sqlite3_extended_errcode(target.pointer))
        }
        var code = SQLITE_OK
        while code == SQLITE_OK {
            let pages = unsafe Int(sqlite3_backup_pagecount(backup))
            let left = unsafe Int(sqlite3_backup_remaining(backup))
            guard mayContinue(CopyProgress(copiedPages: pages - left, pages: pages)) else { break }
            code = unsafe sqlite3_backup_step(backup, pagesAtOnce)
        }
        // This gives the error to the target.
        unsafe _ = sqlite3_backup_finish(backup)
        switch code {
        case SQLITE_DONE: return true
        case SQLITE_OK: return false
        default: throw target.failure(code)
        }
    }
}
