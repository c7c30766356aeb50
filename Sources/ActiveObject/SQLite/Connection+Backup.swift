private import CSQLite
import Glibc

extension Connection {
    /// Pages between two questions whether to stop.
    private static let pagesAtOnce: Int32 = 256

    /// Copies one state of the file into a new one.
    func backUp(to path: String) throws {
        let partial = path + ".partial"
        let lock = try lockForBackup(partial)
        // What is left of a backup that ended with its process goes; of one that runs, nobody else has the lock.
        func clear() { for end in ["", "-journal"] { unsafe _ = unlink(partial + end) } }
        defer {
            clear()
            unsafe _ = unlink(partial + ".lock")
            _ = Glibc.close(lock)
        }
        // A log or a journal of that name would be taken for the new file's.
        for file in [path, path + "-wal", path + "-journal"] where DatabaseFile.exists(file) {
            throw ActiveObjectError(
                .cannotOpen,
                "cannot back up \(self.path): there is a file \(file) already; take another name, or move it")
        }
        clear()
        try copy(to: partial)
        guard unsafe rename(partial, path) == 0 else {
            throw ActiveObjectError(.inputOutput, "cannot name the backup \(path): \(systemErrorText(errno))")
        }
        DatabaseFile.syncFolder(of: path)
    }

    /// Two that copied into one file would name the half of a copy a backup. The lock ends with the process.
    private func lockForBackup(_ partial: String) throws(ActiveObjectError) -> Int32 {
        let path = partial + ".lock"
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ActiveObjectError(.cannotOpen, "cannot back up to \(partial): \(systemErrorText(errno))")
        }
        var ours = stat()
        var there = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &ours) == 0,
            // Who had it may have removed it meanwhile.
            unsafe stat(path, &there) == 0, ours.st_ino == there.st_ino
        else {
            _ = Glibc.close(descriptor)
            throw ActiveObjectError(
                .busy, "another backup is made into \(partial) now: wait for it, or take another name")
        }
        return descriptor
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
