import Glibc
package import PushConfiguration
import PushLoop
import PushStore

/// A private view of the files of a data directory on which no Carillon runs.
///
/// SQLite cannot read a database beside its write-ahead log without writing: it makes an index of the log (`-shm`), and
/// it copies the log into the database when it closes it. Without an index (`immutable`), it does not read the log at
/// all, and what a killed Carillon wrote last would be missing. So the logs, which are small, are copied. The databases
/// are not: a ``ShownDatabase`` shows them in the private directory and keeps there what SQLite writes. Every byte of the
/// data directory stays as it is, and no right to write is needed. On file systems that can share blocks, all files are
/// copied, because that takes no space.
package final class StoppedCopy: Sendable {
    private static let databases = [BackupFile.ledger, BackupFile.registry]
    private static let cloneRequest: UInt = 0x4004_9409
    /// The room for the index of each log, and for what a start writes.
    private static let spare: UInt64 = 1 << 20

    /// The directory that is shown.
    package let source: String
    /// The directory of the view. Only this user can read it.
    package let directory: String
    private let shownDatabases = Locked<[ShownDatabase]>([])

    /// Makes an empty directory for the view.
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

    /// Fills the view. The directory is locked against a start of Carillon meanwhile, and not changed.
    package func fill(report: @escaping BackupReport = { _, _, _ in }) throws(StartError) {
        let lock = try ReadingLock(of: source)
        try checkRoom()
        for name in Self.databases {
            try show(name)
            try copy("\(name)-wal", report: report)
        }
        try lock.end()
    }

    /// Throws if another process has changed the databases after the view was filled, such as a Carillon that has
    /// started: then what was read is not to be trusted.
    package func checkSource() throws(StartError) {
        guard shownDatabases.withLock({ $0.contains { $0.hasChanged } }) else { return }
        throw StartError(
            .tryAgain, "the files of \(source) have changed while they were read: a Carillon has started; try again")
    }

    /// Removes the view.
    package func remove() {
        for name in Self.databases.flatMap({ [$0, "\($0)-wal", "\($0)-shm"] }) + ["control.sock"] {
            unlink("\(directory)/\(name)")
        }
        rmdir(directory)
    }

    /// Opens a file to read; returns nil if there is none. A ledger must be there.
    private func open(_ name: String) throws(StartError) -> (descriptor: CInt, size: UInt64)? {
        let path = "\(source)/\(name)"
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT, name != BackupFile.ledger { return nil }
            throw Self.cannotRead(path, because: .current)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw StartError(.badInput, "cannot read \(path): it is not a file")
        }
        return (descriptor, UInt64(clamping: status.st_size))
    }

    /// Throws if there is no room for the logs, and for their content once more, which SQLite moves to the databases.
    private func checkRoom() throws(StartError) {
        var logs: UInt64 = 0
        for name in Self.databases {
            guard let (descriptor, size) = try open("\(name)-wal") else { continue }
            close(descriptor)
            logs += size
        }
        let needed = logs * 2 + Self.spare
        guard let free = DiskSpace.bytes(of: directory)?.available, free < needed else { return }
        throw StartError(
            .failed,
            "cannot read \(source): the write-ahead logs of its files have \(logs) bytes, so that reading them needs "
                + "\(needed) bytes in \(directory), which has room for \(free); set TMPDIR to a directory with more room"
        )
    }

    /// Shows a database in the private directory.
    private func show(_ name: String) throws(StartError) {
        guard let (descriptor, _) = try open(name) else { return }
        let target = "\(directory)/\(name)"
        if Self.clone(descriptor, to: target) {
            close(descriptor)
            return
        }
        guard let shown = ShownDatabase(at: target, showing: descriptor) else {
            let error = SystemError.current
            close(descriptor)
            throw cannotWrite(error)
        }
        shownDatabases.withLock { $0.append(shown) }
    }

    /// Copies a file if it exists.
    private func copy(_ name: String, report: BackupReport) throws(StartError) {
        guard let (from, size) = try open(name) else { return }
        defer { close(from) }
        let target = "\(directory)/\(name)"
        if Self.clone(from, to: target) { return }
        let to = try BackupFile.create(target)
        defer { close(to) }
        var copied = 0
        try BackupFile.read(from, of: "\(source)/\(name)") { (piece) throws(StartError) in
            try BackupFile.write(piece, to: to, of: target)
            copied += piece.count
            report(name, copied, max(copied, Int(clamping: size)))
        }
    }

    /// Makes a file that shares its blocks with another one. Returns false if the file system cannot do that.
    private static func clone(_ from: CInt, to target: String) -> Bool {
        let to = Glibc.open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard to >= 0 else { return false }
        defer { close(to) }
        if ioctl(to, cloneRequest, from) == 0 { return true }
        unlink(target)
        return false
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
