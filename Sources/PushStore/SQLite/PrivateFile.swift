import Glibc

/// Files with tokens and payloads in them are read by nobody but the user that Carillon runs as, whatever the directory
/// lets others do.
enum PrivateFile {
    /// Before SQLite opens it, which makes what stands beside it like it. What cannot be done here shows when it does.
    static func prepare(_ path: String) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            return
        }
        // Not opened: to close it again would take the locks of whoever in this process has it open.
        for file in [path, path + "-wal", path + "-shm"] { unsafe chmod(file, 0o600) }
    }
}
