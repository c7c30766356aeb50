import Glibc

/// Access rights of the database files. They contain tokens and payloads, so only the user that runs Carillon may read
/// them, whatever the mode of the directory.
enum PrivateFile {
    /// Creates the file with mode 0600, or restricts existing files to that mode. Call this before SQLite opens the
    /// file: SQLite gives the `-wal` and `-shm` files the mode of the database. Errors are ignored, because opening
    /// reports them.
    static func prepare(_ path: String) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            return
        }
        // Change the mode by path: opening and closing the file would release the POSIX locks of this process on it.
        for file in [path, path + "-wal", path + "-shm"] { unsafe chmod(file, 0o600) }
    }
}
