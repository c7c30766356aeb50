import Glibc
import PushConfiguration
import PushLoop
import PushModel
import PushTransport

/// Called with the file that is copied or checked, and the bytes of it that are done and there.
package typealias BackupReport = @Sendable (_ file: String, _ done: Int, _ all: Int) -> Void

/// The files of a data directory that belong to a backup, and the system calls on them. All functions block.
enum BackupFile {
    static let ledger = "ledger.db"
    static let registry = "registry.db"
    static let sealingKey = "api.key"
    static let expiries = "expiry.json"
    static let operators = OperatorsFile.fileName
    static let manifest = "manifest.json"
    /// The file that is locked while a process uses a data directory. It is not in a backup.
    static let lock = "carillon.lock"

    /// Returns whether a backup may have a file of this name. A manifest may have been written by anyone, so no other name
    /// is ever opened.
    static func isKnown(_ name: String) -> Bool {
        if [ledger, registry, sealingKey, expiries, operators].contains(name) { return true }
        return isSpool(name) || isWebhook(name)
    }

    /// Whether it is the position of a webhook.
    static func isWebhook(_ name: String) -> Bool {
        guard name.hasPrefix(WebhookFile.prefix), name.hasSuffix(WebhookFile.suffix) else { return false }
        return AppID(String(name.dropFirst(WebhookFile.prefix.count).dropLast(WebhookFile.suffix.count))) != nil
    }

    /// Whether it is a list of the legacy feedback service that was being taken.
    static func isSpool(_ name: String) -> Bool {
        guard name.hasPrefix("feedback-"), name.hasSuffix(".spool") else { return false }
        return AppID(String(name.dropFirst(9).dropLast(6))) != nil
    }

    /// Gives a new file to the user whose directory it is in, if this is run by the superuser. Otherwise the server of
    /// that user could not open it.
    static func giveToOwner(_ descriptor: CInt, of directory: String) {
        var owner = stat()
        guard geteuid() == 0, stat(directory, &owner) == 0 else { return }
        fchown(descriptor, owner.st_uid, owner.st_gid)
    }

    /// Returns the names in a directory, without `.` and `..`.
    static func names(in directory: String) throws(StartError) -> [String] {
        guard let stream = opendir(directory) else { throw failure("cannot list \(directory)") }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Opens a regular file to read. A link is refused: it may lead to a file that this user may read and that another
    /// one must not.
    static func open(_ path: String) throws(StartError) -> (descriptor: CInt, size: Int64) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            let error = SystemError.current
            if error.number == ELOOP { throw StartError(.badInput, "\(path) is a symbolic link; it must be a file") }
            throw failure("cannot read \(path)", because: error)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw StartError(.badInput, "\(path) is not a regular file")
        }
        return (descriptor, Int64(status.st_size))
    }

    /// Creates a file that only its owner can read.
    static func create(_ path: String) throws(StartError) -> CInt {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("cannot write \(path)") }
        return descriptor
    }

    /// Reads a file from its beginning in pieces.
    static func read(
        _ descriptor: CInt, of path: String, body: ([UInt8]) throws(StartError) -> Void
    ) throws(StartError) {
        var piece = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("cannot read \(path)") }
            if count == 0 { return }
            try body(count == piece.count ? piece : Array(piece[..<count]))
        }
    }

    static func write(_ bytes: [UInt8], to descriptor: CInt, of path: String) throws(StartError) {
        do throws(SystemError) {
            try FileCalls.write(bytes, to: descriptor)
        } catch {
            throw failure("cannot write \(path)", because: error)
        }
    }

    /// Syncs a file or directory.
    static func sync(_ path: String) throws(StartError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("cannot open \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("cannot sync \(path)") }
    }

    static func failure(_ what: String, because error: SystemError = .current) -> StartError {
        let advice =
            switch error.number {
            case ENOSPC, EDQUOT, EFBIG: "; free space, or name another directory"
            case EACCES, EPERM: "; run this as the user of the server"
            default: ""
            }
        let code: StartError.Code = [EACCES, EPERM, EROFS].contains(error.number) ? .notPermitted : .failed
        return StartError(code, "\(what): \(error)\(advice)")
    }

    /// Returns a path without slashes at its end.
    static func trimmed(_ path: String) -> String {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}
