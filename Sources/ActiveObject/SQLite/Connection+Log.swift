private import CSQLite
import Glibc

extension Connection {
    /// Copies what the log holds into the file. `mode` is one of `SQLITE_CHECKPOINT_…`. Returns the frames in the log
    /// and those that were copied, and whether the mode got what it waited for.
    func checkpoint(mode: Int32) throws(ActiveObjectError) -> (inLog: Int, copied: Int, isDone: Bool) {
        // SQLite keeps an interrupt that met no statement until the next one begins; this one is for nobody here.
        if !interruption.isRequested { try? withStatement("SELECT 1") { try $0.run() } }
        var inLog: Int32 = 0
        var copied: Int32 = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, mode, &inLog, &copied)
        guard code == SQLITE_OK || code & 0xff == SQLITE_BUSY else { throw failure(code, doing: "checkpoint") }
        return (max(0, Int(inLog)), max(0, Int(copied)), code == SQLITE_OK)
    }

    /// After a commit: copies the log into the file when it has `limit` pages.
    ///
    /// Readers that come and go without a gap never let a log be copied whole, and it would grow without end. So one of
    /// four times the limit waits for those that read now, a moment only, and again after each `limit` pages: a reader
    /// that takes long must not stop the writer.
    func tendLog(limit: Int) {
        guard limit > 0, callbacks.logPages >= limit else {
            logPagesAtLastWait = 0
            return
        }
        // What was committed is committed: an error here comes again with the next statement that it concerns.
        guard callbacks.logPages / 4 >= limit, callbacks.logPages - logPagesAtLastWait >= limit else {
            _ = try? checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE)
            return
        }
        logPagesAtLastWait = callbacks.logPages
        let usual = callbacks.patience
        callbacks.patience = min(usual, .milliseconds(100))
        defer { callbacks.patience = usual }
        _ = try? checkpoint(mode: SQLITE_CHECKPOINT_RESTART)
    }

    /// Before anybody reads: cuts a log that is larger than this to nothing. A process that was killed while its log was
    /// large has left it, and it would stay until enough is written. Another program that reads is not waited for.
    func cutLog(above bytes: Int) {
        var file = stat()
        guard unsafe stat(path + "-wal", &file) == 0, Int(file.st_size) > bytes else { return }
        let usual = callbacks.patience
        callbacks.patience = .zero
        defer { callbacks.patience = usual }
        // A disk that refuses says so again with the first write.
        _ = try? checkpoint(mode: SQLITE_CHECKPOINT_TRUNCATE)
    }
}
