import Glibc
import PushSQLite

extension Connection {
    /// Copies the log into the file.
    func checkpoint(_ mode: CheckpointMode) throws(ActiveObjectError) -> CheckpointResult {
        // SQLite keeps an interrupt until the next statement begins. This statement consumes one that came too late.
        if !interruption.isRequested { try? withStatement("SELECT 1") { try $0.run() } }
        do {
            return try database.checkpoint(mode)
        } catch {
            throw self.error(error, doing: "checkpoint")
        }
    }

    /// Copies the log into the file after a commit if it has `limit` pages.
    ///
    /// If readers always overlap, the log can never be copied completely and would grow without limit. Therefore a log
    /// of four times the limit makes the writer wait for the current readers, only briefly, and again after every
    /// further `limit` pages. A slow reader must not stop the writer.
    func checkpointIfDue(limit: Int) {
        guard limit > 0, callbacks.logPages >= limit else {
            logPagesAtLastWait = 0
            return
        }
        // The commit has succeeded. An error here comes again with the next statement that it affects.
        guard callbacks.logPages / 4 >= limit, callbacks.logPages - logPagesAtLastWait >= limit else {
            _ = try? checkpoint(.passive)
            return
        }
        logPagesAtLastWait = callbacks.logPages
        let usual = callbacks.busyTimeout
        callbacks.busyTimeout = min(usual, .milliseconds(100))
        defer { callbacks.busyTimeout = usual }
        _ = try? checkpoint(.restart)
    }

    /// Truncates a log that is larger than `bytes`, before any reader is open. A process that was killed may have left
    /// a large log, which would stay until enough is written. Does not wait for other programs that read.
    func truncateLog(above bytes: Int) {
        var file = stat()
        guard unsafe stat(path + "-wal", &file) == 0, Int(file.st_size) > bytes else { return }
        let usual = callbacks.busyTimeout
        callbacks.busyTimeout = .zero
        defer { callbacks.busyTimeout = usual }
        // If the disk fails, the next write reports it.
        _ = try? checkpoint(.truncate)
    }
}
