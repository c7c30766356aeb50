private import CSQLite
import Glibc

extension Connection {
    /// Pages between two questions whether to stop.
    private static let pagesAtOnce: Int32 = 256

    /// Copies one state of the file into a new one.
    func backUp(to path: String) throws {
        // A log or a journal of that name would be taken for the new file's.
        for file in [path, path + "-wal", path + "-journal"] where DatabaseFile.exists(file) {
            throw ActiveObjectError(
                .cannotOpen,
                "cannot back up \(self.path): there is a file \(file) already; take another name, or move it")
        }
        let partial = path + ".partial"
        defer { for end in ["", "-journal"] { unsafe _ = unlink(partial + end) } }
        // Of a backup that ended with its process.
        for end in ["", "-journal"] { unsafe _ = unlink(partial + end) }
        try copy(to: partial)
        guard unsafe rename(partial, path) == 0 else {
            throw ActiveObjectError(.inputOutput, "cannot name the backup \(path): \(systemErrorText(errno))")
        }
        DatabaseFile.syncFolder(of: path)
    }

    private func copy(to path: String) throws {
        let target = try Connection(path: path, mode: .readWrite(creates: true))
        defer { target.close() }
        try beginReading()
        defer { rollBack() }
        guard let backup = unsafe sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw target.failure(unsafe sqlite3_extended_errcode(target.handle), doing: "back up \(self.path)")
        }
        var code = SQLITE_OK
        while code == SQLITE_OK, !interruption.isRequested {
            code = unsafe sqlite3_backup_step(backup, Self.pagesAtOnce)
        }
        unsafe _ = sqlite3_backup_finish(backup)
        if interruption.isRequested { throw stopped() }
        guard code == SQLITE_DONE else { throw target.failure(code, doing: "back up \(self.path)") }
    }
}
