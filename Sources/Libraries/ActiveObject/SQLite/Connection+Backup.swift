import Glibc
import PushSQLite
import PushThread

extension Connection {
    /// The number of pages copied between two checks for an interruption.
    private static let pagesAtOnce: Int32 = 256

    /// Copies one state of the file into a new file.
    func backUp(to path: String) throws {
        let partial = path + ".partial"
        let lock = try lockForBackup(partial)
        // Remove the remains of a backup whose process ended. A backup that runs would hold the lock.
        func clear() { for end in ["", "-journal"] { unsafe _ = unlink(partial + end) } }
        defer {
            clear()
            unsafe _ = unlink(partial + ".lock")
            _ = Glibc.close(lock)
        }
        // SQLite would take a log or journal of that name for that of the new file.
        for file in [path, path + "-wal", path + "-journal"] where DatabaseFile.exists(file) {
            throw ActiveObjectError(
                .cannotOpen,
                message: "cannot back up \(self.path): \(file) already exists; use another name, or move the file")
        }
        clear()
        try createBackup(partial)
        try copy(to: partial)
        guard unsafe rename(partial, path) == 0 else {
            throw ActiveObjectError(
                .inputOutput, message: "cannot rename the backup to \(path): \(systemErrorText(errno))")
        }
        // Otherwise a power failure could remove the name of the backup.
        try? FileCalls.syncDirectory(FileCalls.directory(of: path))
    }

    /// Locks the partial file, because two backups into one file would damage each other. The lock ends with the
    /// process.
    private func lockForBackup(_ partial: String) throws(ActiveObjectError) -> Int32 {
        let path = partial + ".lock"
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ActiveObjectError(.cannotOpen, message: "cannot back up to \(partial): \(systemErrorText(errno))")
        }
        var ours = stat()
        var there = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &ours) == 0,
            // The previous holder of the lock may have removed the file meanwhile.
            unsafe stat(path, &there) == 0, ours.st_ino == there.st_ino
        else {
            _ = Glibc.close(descriptor)
            throw ActiveObjectError(
                .busy, message: "another backup into \(partial) is running; wait for it, or use another name")
        }
        return descriptor
    }

    /// Creates the file with the rights of this one. SQLite would create it with those of the umask.
    private func createBackup(_ file: String) throws(ActiveObjectError) {
        var source = stat()
        let mode = unsafe stat(path, &source) == 0 ? source.st_mode & 0o666 : 0o600
        let descriptor = unsafe open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw ActiveObjectError(.cannotOpen, message: "cannot back up to \(file): \(systemErrorText(errno))")
        }
        defer { _ = Glibc.close(descriptor) }
        guard fchmod(descriptor, mode) == 0 else {
            throw ActiveObjectError(.inputOutput, message: "cannot back up to \(file): \(systemErrorText(errno))")
        }
    }

    private func copy(to path: String) throws {
        let target = try Connection(path: path, mode: .readWrite(creates: false))
        defer { target.close() }
        try beginReading()
        defer { rollBack() }
        let isComplete: Bool
        do throws(SQLiteFailure) {
            isComplete = try database.backUp(into: target.database, pagesAtOnce: Self.pagesAtOnce) { _ in
                !interruption.isRequested
            }
        } catch {
            if interruption.isRequested { throw stopped() }
            throw target.error(error, doing: "back up \(self.path)")
        }
        guard isComplete, !interruption.isRequested else { throw stopped() }
    }
}
