import FoundationEssentials
import Glibc
import PushConfiguration
import PushLoop

/// The lock of the data directory. Without it, two processes could damage the same ledger.
///
/// The kernel releases the lock when the process ends, in any way. The file stays and contains the id of the last
/// process that held the lock.
final class DataLock: Sendable {
    static let fileName = BackupFile.lock

    let directory: String
    private let descriptor: CInt

    /// Locks the directory, and creates it if it does not exist.
    ///
    /// - Throws: `tryAgain` if another process holds the lock, `notPermitted` or `failed` if the directory cannot be
    ///   used. It is also `notPermitted` if every user may write to the directory, because anyone could replace the
    ///   files in it.
    init(directory: String) throws(StartError) {
        self.directory = directory
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartError(.notPermitted, "cannot create the data directory \(directory): \(error)")
        }
        if let fault = Self.modeFault(of: directory) { throw fault }
        let path = Self.path(in: directory)
        // The file is truncated below. If it were a symbolic link or a hard link, another file would be truncated.
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        var descriptor = open(path, flags | O_EXCL, 0o600)
        if descriptor >= 0 {
            BackupFile.giveToOwner(descriptor, of: directory)
        } else {
            descriptor = open(path, flags, 0o600)
        }
        guard descriptor >= 0 else {
            let error = SystemError.current
            if error.number == ELOOP { throw Self.notOurs(path, because: "it is a symbolic link") }
            throw Self.cannotUse(directory, because: error, at: path)
        }
        var status = stat()
        if fstat(descriptor, &status) != 0 || !Self.isOurs(status) {
            close(descriptor)
            throw Self.notOurs(path, because: "it is not a regular file with one name")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error = SystemError.current
            let holder = Self.holder(descriptor)
            close(descriptor)
            guard error.number == EWOULDBLOCK else { throw StartError(.failed, "cannot lock \(path): \(error)") }
            throw StartError(
                .tryAgain,
                "another Carillon\(holder) runs on the data directory \(directory); stop it, or choose another "
                    + "directory with data in the configuration or --data")
        }
        self.descriptor = descriptor
        ftruncate(descriptor, 0)
        let note = Array("\(getpid())\n".utf8)
        _ = note.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        // A restore that was killed has left old files beside new ones. Nobody may open them before they are exchanged.
        // If that fails, the lock is released with this object.
        try RestoreSwap.finish(in: directory)
    }

    deinit {
        close(descriptor)
    }

    private static func path(in directory: String) -> String { "\(directory)/\(fileName)" }

    /// Returns the reason why an existing directory cannot be locked, or nil. A lock that another process holds does
    /// not count. It changes nothing.
    static func fault(of directory: String) -> StartError? { modeFault(of: directory) ?? fileFault(in: directory) }

    private static func fileFault(in directory: String) -> StartError? {
        let path = path(in: directory)
        var status = stat()
        // A missing file is not a fault: `init` creates it.
        guard lstat(path, &status) == 0 else { return nil }
        if status.st_mode & S_IFMT == S_IFLNK { return notOurs(path, because: "it is a symbolic link") }
        guard isOurs(status) else { return notOurs(path, because: "it is not a regular file with one name") }
        return access(path, R_OK | W_OK) == 0 ? nil : cannotUse(directory, because: .current, at: path)
    }

    private static func isOurs(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1 }

    private static func cannotUse(_ directory: String, because error: SystemError, at path: String) -> StartError {
        StartError(
            error.number == EACCES ? .notPermitted : .failed,
            "cannot use the data directory \(directory): \(error) at \(path)")
    }

    private static func modeFault(of directory: String) -> StartError? {
        var status = stat()
        // Other faults of the directory appear when it is used.
        guard stat(directory, &status) == 0, status.st_mode & 0o002 != 0 else { return nil }
        return StartError(
            .notPermitted,
            "every user may write to the data directory \(directory) (mode 0\(String(status.st_mode & 0o7777, radix: 8))): "
                + "run chmod 700 on it, or choose another with data in the configuration or --data")
    }

    private static func notOurs(_ path: String, because what: String) -> StartError {
        StartError(
            .notPermitted, "cannot use the lock file \(path): \(what), so Carillon did not create it; remove it")
    }

    private static func holder(_ descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 1, let number = Int32(String(decoding: bytes[..<(count - 1)], as: UTF8.self)) else { return "" }
        return " (process \(number))"
    }
}
