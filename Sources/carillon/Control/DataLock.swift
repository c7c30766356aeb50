import FoundationEssentials
import Glibc
import PushLoop

/// Holds the data directory for this process: two Carillons on one ledger would break it.
///
/// The lock is the kernel's and goes with the process, however it ends; the file stays, and says who held it last.
final class DataLock: Sendable {
    static let fileName = "carillon.lock"

    let directory: String
    private let descriptor: CInt

    /// Makes the directory if there is none.
    ///
    /// - Throws: `tryAgain` if another process holds it, `notPermitted` or `failed` if it cannot be used, `notPermitted`
    ///   also where every user may write to it: such a directory lets anybody put other files in the place of ours.
    init(directory: String) throws(Failure) {
        self.directory = directory
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Failure(.notPermitted, "cannot make the data directory \(directory): \(error)")
        }
        if let fault = Self.modeFault(of: directory) { throw fault }
        let path = Self.path(in: directory)
        // It is emptied below: a symbolic link there, or another name of a file elsewhere, would empty that file.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            let error = SystemError.current
            if error.number == ELOOP { throw Self.notOurs(path, "it is a symbolic link") }
            throw Self.cannotUse(directory, error, at: path)
        }
        var status = stat()
        if fstat(descriptor, &status) != 0 || !Self.isOurs(status) {
            close(descriptor)
            throw Self.notOurs(path, "it is not a regular file with one name")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error = SystemError.current
            let holder = Self.holder(descriptor)
            close(descriptor)
            guard error.number == EWOULDBLOCK else { throw Failure(.failed, "cannot lock \(path): \(error)") }
            throw Failure(
                .tryAgain,
                "another Carillon\(holder) runs on the data directory \(directory); stop it, or choose another "
                    + "directory with data in the configuration or --data")
        }
        self.descriptor = descriptor
        ftruncate(descriptor, 0)
        let note = Array("\(getpid())\n".utf8)
        _ = note.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    deinit {
        close(descriptor)
    }

    private static func path(in directory: String) -> String { "\(directory)/\(fileName)" }

    /// The reason why a directory that is there cannot be locked, but for somebody who holds it; or nil. Changes nothing.
    static func fault(of directory: String) -> Failure? { modeFault(of: directory) ?? fileFault(in: directory) }

    private static func fileFault(in directory: String) -> Failure? {
        let path = path(in: directory)
        var status = stat()
        // What is not there is made.
        guard lstat(path, &status) == 0 else { return nil }
        if status.st_mode & S_IFMT == S_IFLNK { return notOurs(path, "it is a symbolic link") }
        guard isOurs(status) else { return notOurs(path, "it is not a regular file with one name") }
        return access(path, R_OK | W_OK) == 0 ? nil : cannotUse(directory, .current, at: path)
    }

    private static func isOurs(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1 }

    private static func cannotUse(_ directory: String, _ error: SystemError, at path: String) -> Failure {
        Failure(
            error.number == EACCES ? .notPermitted : .failed,
            "cannot use the data directory \(directory): \(error) at \(path)")
    }

    private static func modeFault(of directory: String) -> Failure? {
        var status = stat()
        // What else may be wrong with it shows when it is used.
        guard stat(directory, &status) == 0, status.st_mode & 0o002 != 0 else { return nil }
        return Failure(
            .notPermitted,
            "every user may write to the data directory \(directory) (mode 0\(String(status.st_mode & 0o7777, radix: 8))): "
                + "chmod 700 it, or choose another with data in the configuration or --data")
    }

    private static func notOurs(_ path: String, _ what: String) -> Failure {
        Failure(.notPermitted, "cannot use the lock file \(path): \(what), and Carillon made no such file; remove it")
    }

    private static func holder(_ descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 1, let number = Int32(String(decoding: bytes[..<(count - 1)], as: UTF8.self)) else { return "" }
        return " (process \(number))"
    }
}
