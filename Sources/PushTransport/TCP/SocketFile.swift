import Glibc

/// The file of a Unix socket, known by its inode: it is removed only while it is still the one made here.
struct SocketFile {
    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Nil if there is none.
    init?(_ path: String) {
        guard let found = Self.status(of: path) else { return nil }
        self.path = path
        (device, inode) = (found.st_dev, found.st_ino)
    }

    func remove() {
        guard let found = Self.status(of: path), found.st_dev == device, found.st_ino == inode else { return }
        unsafe _ = unlink(path)
    }

    /// Of the file itself, and not of what it may link to.
    static func status(of path: String) -> stat? {
        var found = stat()
        return unsafe lstat(path, &found) == 0 ? found : nil
    }
}
