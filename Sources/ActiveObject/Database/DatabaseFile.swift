import Glibc

/// What the file system says about a database before it is opened.
enum DatabaseFile {
    /// Whether nobody can write the file: it lies on a file system that is mounted for reading only. Then there can be
    /// no locks and no log beside it, and SQLite has to be told not to look for them.
    ///
    /// That this process may not write is not enough: another one could.
    static func isImmutable(_ path: String) -> Bool {
        var system = statvfs()
        guard unsafe statvfs(path, &system) == 0, system.f_flag & UInt(ST_RDONLY) != 0 else { return false }
        // What is in the log is not in the file: then the log has to be read, which needs a place for locks.
        var log = stat()
        guard let real = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(real) }
        return unsafe stat(String(cString: real) + "-wal", &log) != 0 || log.st_size == 0
    }

    static func exists(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0
    }

    /// Has the system keep the names in the folder of `path`.
    static func syncFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        _ = Glibc.close(descriptor)
    }
}
