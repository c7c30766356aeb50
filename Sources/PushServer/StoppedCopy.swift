import Glibc
package import PushConfiguration
import PushLoop

/// A private copy of the files of a data directory on which no Carillon runs.
///
/// The files are copied because SQLite cannot read a database beside its write-ahead log without writing: it makes an
/// index of the log (`-shm`), and it copies the log into the database when it closes it. Without an index
/// (`immutable`), it does not read the log at all, and what a killed Carillon wrote last would be missing. A copy leaves
/// every byte as it is, and needs no right to write. On file systems that can share blocks, it takes no space.
package struct StoppedCopy: Sendable {
    /// The ledger, the registry, and what SQLite has beside them.
    private static let files = ["ledger.db", "ledger.db-wal", "registry.db", "registry.db-wal"]
    private static let cloneRequest: UInt = 0x4004_9409

    /// The directory that was copied.
    package let source: String
    /// The directory of the copy. Only this user can read it.
    package let directory: String

    /// Makes an empty directory for the copy.
    ///
    /// - Parameter place: The directory in which it is made.
    package init(of source: String, in place: String) throws(StartError) {
        self.source = source
        // A socket is made in it, whose path must be short.
        var template = Array("\(place)/carillon-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw StartError(
                .failed, "cannot make a directory in \(place): \(SystemError.current); set TMPDIR to another directory")
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether the directory has a ledger. It throws if this user may not know.
    package static func hasLedger(in source: String) throws(StartError) -> Bool {
        guard access("\(source)/ledger.db", F_OK) != 0 else { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw cannotRead("\(source)/ledger.db", because: .current) }
        return false
    }

    /// Copies the files. The directory is locked against a start of Carillon meanwhile, and not changed.
    package func fill() throws(StartError) {
        let lock = try ReadingLock(of: source)
        for name in Self.files { try copy(name) }
        try lock.end()
    }

    /// Removes the copy.
    package func remove() {
        for name in Self.files + ["ledger.db-shm", "registry.db-shm", "control.sock"] {
            unlink("\(directory)/\(name)")
        }
        rmdir(directory)
    }

    private func copy(_ name: String) throws(StartError) {
        let path = "\(source)/\(name)"
        let from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard from >= 0 else {
            if errno == ENOENT, name != "ledger.db" { return }
            throw Self.cannotRead(path, because: .current)
        }
        defer { close(from) }
        var status = stat()
        guard fstat(from, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StartError(.badInput, "cannot read \(path): it is not a file")
        }
        let to = open("\(directory)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard to >= 0 else { throw cannotWrite(.current) }
        defer { close(to) }
        if ioctl(to, Self.cloneRequest, from) == 0 { return }
        if let free = DiskSpace.bytes(of: directory)?.available, free < UInt64(clamping: status.st_size) {
            throw StartError(
                .failed,
                "cannot copy \(path) to read it: it has \(status.st_size) bytes, and \(directory) has room for \(free); "
                    + "set TMPDIR to a directory with more room")
        }
        try copy(from: from, to: to, of: path)
    }

    private func copy(from: CInt, to: CInt, of path: String) throws(StartError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = unsafe read(from, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.cannotRead(path, because: .current) }
            if count == 0 { return }
            var done = 0
            while done < count {
                let written = unsafe buffer.withUnsafeBytes {
                    unsafe write(to, $0.baseAddress.map { unsafe $0 + done }, count - done)
                }
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { throw cannotWrite(.current) }
                done += written
            }
        }
    }

    private static func cannotRead(_ path: String, because error: SystemError) -> StartError {
        StartError(
            error.number == EACCES || error.number == EPERM ? .notPermitted : .failed,
            "cannot read \(path): \(error)"
                + (error.number == EACCES ? "; use the account that Carillon runs as, or root" : ""))
    }

    private func cannotWrite(_ error: SystemError) -> StartError {
        StartError(.failed, "cannot write a copy in \(directory): \(error); set TMPDIR to a directory with more room")
    }
}

/// The lock of a data directory that is read: no Carillon can start on it, and nothing in it is changed.
final class ReadingLock {
    private let path: String
    private let source: String
    /// Nil if there is no lock file, as in a restored backup.
    private let descriptor: CInt?

    /// - Throws: `tryAgain` if a Carillon runs on the directory.
    init(of source: String) throws(StartError) {
        self.source = source
        path = "\(source)/\(DataLock.fileName)"
        let opened = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard opened >= 0 else {
            guard errno == ENOENT else {
                let error = SystemError.current
                descriptor = nil
                throw StartError(
                    error.number == EACCES ? .notPermitted : .failed,
                    "cannot open \(path): \(error); use the account that Carillon runs as, or root")
            }
            descriptor = nil
            return
        }
        guard flock(opened, LOCK_SH | LOCK_NB) == 0 else {
            let error = SystemError.current
            close(opened)
            descriptor = nil
            guard error.number == EWOULDBLOCK else { throw StartError(.failed, "cannot lock \(path): \(error)") }
            throw Self.isRunning(on: source)
        }
        descriptor = opened
    }

    deinit {
        if let descriptor { close(descriptor) }
    }

    /// Called after the files were read.
    ///
    /// - Throws: `tryAgain` if a Carillon may have started meanwhile.
    func end() throws(StartError) {
        if descriptor == nil, access(path, F_OK) == 0 { throw Self.isRunning(on: source) }
    }

    private static func isRunning(on source: String) -> StartError {
        StartError(
            .tryAgain,
            "a Carillon runs on the data directory \(source), but does not answer on its control socket: it starts, ends "
                + "or hangs; try again")
    }
}
