import Glibc

/// Functions that query the file system about a database that is not open yet.
enum DatabaseFile {
    /// Returns whether nobody can write the file because its file system is mounted read-only. SQLite must be told so
    /// that it does not look for lock files and a log, which cannot exist there.
    ///
    /// Missing write permission of this process is not sufficient, because another process could write the file.
    static func isImmutable(_ path: String) -> Bool {
        var system = statvfs()
        guard unsafe statvfs(path, &system) == 0, system.f_flag & UInt(ST_RDONLY) != 0 else { return false }
        // The last changes may be only in the log. Reading the log needs lock files.
        var log = stat()
        guard let real = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(real) }
        return unsafe stat(String(cString: real) + "-wal", &log) != 0 || log.st_size == 0
    }

    static func exists(_ path: String) -> Bool {
        var information = stat()
        return unsafe lstat(path, &information) == 0
    }
}
