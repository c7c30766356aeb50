import Glibc
import PushLoop

/// The files of a data directory that this process has open, by device and inode.
///
/// A file that was removed or replaced while it is open can still be written, but what is written is gone when the
/// process ends.
package final class OpenedFiles: Sendable {
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t

        /// The identity of the file that has a name now; nil if there is none.
        init?(_ path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            (device, inode) = (status.st_dev, status.st_ino)
        }
    }

    private let files = Locked<[(path: String, identity: Identity)]>([])

    package init() {}

    /// Adds files that were just opened. Those that do not exist are left out.
    package func add(_ paths: [String]) {
        let found = paths.compactMap { path in Identity(path).map { (path: path, identity: $0) } }
        files.withLock { $0 += found }
    }

    /// Adds a database file that was just opened, and its write-ahead log.
    func add(database path: String) { add([path, path + "-wal"]) }

    /// The file whose name is gone or belongs to another file, with a remedy; nil if there is none. It takes a
    /// microsecond for each file.
    var fault: StoreError? {
        let lost = files.withLock { files in files.first { Identity($0.path) != $0.identity }?.path }
        return lost.map { path in
            StoreError(
                .cannotWrite,
                "\(path) was removed or replaced while Carillon has it open, and what is written would be lost; move the "
                    + "file back, or stop Carillon, restore a backup and start it")
        }
    }
}
