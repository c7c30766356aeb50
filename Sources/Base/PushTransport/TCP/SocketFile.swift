import Glibc

/// The file of a Unix socket, identified by its inode. It is removed only if it is still the file that this process
/// created.
struct SocketFile {
    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Records the identity of the file. Returns nil if there is no file.
    init?(_ path: String) {
        guard let found = Self.status(of: path) else { return nil }
        self.path = path
        (device, inode) = (found.st_dev, found.st_ino)
    }

    func remove() {
        guard let found = Self.status(of: path), found.st_dev == device, found.st_ino == inode else { return }
        unsafe _ = unlink(path)
    }

    /// Returns the status of the file itself; symbolic links are not followed.
    static func status(of path: String) -> stat? {
        var found = stat()
        return unsafe lstat(path, &found) == 0 ? found : nil
    }
}
