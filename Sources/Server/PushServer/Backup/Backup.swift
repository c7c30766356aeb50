import FoundationEssentials
import Glibc
import PushConfiguration
import PushLoop
import PushStore
import PushTime
import PushTransport

/// A copy of a data directory at one moment, while a Carillon runs on it or none does.
///
/// The files are copied into a directory beside the target, synced, and described by a manifest; then the directory gets
/// its name. A backup that ends early therefore never looks like a whole one. The server is neither asked nor stopped:
/// SQLite gives each reader one state of a file.
///
/// The order makes the copies fit together. Spools of feedback come first, because they are removed when the ledger has
/// their content. The state of the registry is taken before that of the ledger, so that the ledger has every event that
/// the registry has applied; the registry reads those that it lacks at the next start. The key that seals the secrets of
/// API keys comes after the registry, because it is made before the first of these keys.
package struct Backup: Sendable {
    package struct Settings: Sendable {
        package var source: String
        package var target: String
        /// The rate at which the files are copied.
        package var bytesPerSecond = 64 << 20

        package init(of source: String, to target: String) {
            self.source = BackupFile.trimmed(source)
            self.target = BackupFile.trimmed(target)
        }
    }

    private let settings: Settings
    private let report: BackupReport

    package init(_ settings: Settings, report: @escaping BackupReport = { _, _, _ in }) {
        self.settings = settings
        self.report = report
    }

    private var source: String { settings.source }
    private var target: String { settings.target }
    private var partial: String { "\(settings.target).partial" }

    /// Makes the backup, and returns its manifest when all of it is on disk. It blocks.
    package func run() throws -> BackupManifest {
        guard access("\(source)/\(BackupFile.ledger)", F_OK) == 0 else {
            throw StartError(
                .badInput,
                "\(source) has no \(BackupFile.ledger): \(SystemError.current); name the data directory of a Carillon that "
                    + "has started once")
        }
        guard !target.isEmpty else {
            throw StartError(.badInput, "the name of the backup is empty; name a directory that does not exist")
        }
        guard !BackupFile.exists(target) else {
            throw StartError(.badInput, "\(target) already exists; name a directory that does not")
        }
        let lock = try beginPartial()
        defer { close(lock) }
        do {
            let manifest = try copyAll()
            try BackupFile.sync(partial)
            // At most an empty directory can be replaced by this.
            guard rename(partial, target) == 0 else {
                throw BackupFile.failure("cannot rename \(partial) to \(target)")
            }
            try BackupFile.sync(FileCalls.directory(of: target))
            BackupRecord(in: source).write(target, endedAt: .current())
            return manifest
        } catch {
            try? clearPartial()
            rmdir(partial)
            throw error
        }
    }

    // MARK: The directory

    /// Creates and locks the directory that becomes the backup, or takes over that of a backup whose process ended.
    private func beginPartial() throws(StartError) -> CInt {
        if mkdir(partial, 0o700) != 0, errno != EEXIST { throw BackupFile.failure("cannot create \(partial)") }
        let lock = open(partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard lock >= 0 else { throw BackupFile.failure("cannot use \(partial)") }
        var ours = stat()
        var there = stat()
        guard flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &ours) == 0, stat(partial, &there) == 0,
            ours.st_ino == there.st_ino
        else {
            close(lock)
            throw StartError(
                .tryAgain, "another backup to \(target) is running; wait for it, or name another directory")
        }
        guard ours.st_uid == geteuid(), ours.st_mode & 0o022 == 0 else {
            close(lock)
            throw StartError(
                .notPermitted, "\(partial) belongs to another user, or others may write to it; remove it")
        }
        do {
            try clearPartial()
        } catch {
            close(lock)
            throw error
        }
        return lock
    }

    /// Removes the files that a backup makes. Others keep the directory from being used.
    private func clearPartial() throws(StartError) {
        for name in try BackupFile.names(in: partial) {
            let end = ["-wal", "-shm", "-journal"].first { name.hasSuffix($0) } ?? ""
            guard BackupFile.isKnown(String(name.dropLast(end.count))) || name == BackupFile.manifest else {
                throw StartError(
                    .badInput, "\(partial) contains \(name), which is not of a backup; remove the directory")
            }
            unlink("\(partial)/\(name)")
        }
    }

    // MARK: The files

    private func copyAll() throws -> BackupManifest {
        let pace = BackupPace(bytesPerSecond: settings.bytesPerSecond, report: report)
        let names = try BackupFile.names(in: source)
        try checkSpace(names)
        // The positions of webhooks are copied before the ledger: events between the two are delivered again.
        for name in names
        where BackupFile.isSpool(name) || BackupFile.isWebhook(name)
            || [BackupFile.expiries, BackupFile.operators].contains(name)
        {
            try copySmall(name, at: pace)
        }
        let lock = try lockIfStopped()
        let hasRegistry = names.contains(BackupFile.registry)
        let createdAt: WallTime
        if lock == nil {
            let registry = hasRegistry ? try FileSnapshot(of: "\(source)/\(BackupFile.registry)") : nil
            let ledger = try FileSnapshot(of: "\(source)/\(BackupFile.ledger)")
            createdAt = .current()
            if let registry { try copy(registry, as: BackupFile.registry, at: pace) }
            try copy(ledger, as: BackupFile.ledger, at: pace)
        } else {
            createdAt = .current()
            if hasRegistry { try copyStopped(BackupFile.registry, at: pace) }
            try copyStopped(BackupFile.ledger, at: pace)
        }
        if BackupFile.exists("\(source)/\(BackupFile.sealingKey)") {
            try copySmall(BackupFile.sealingKey, at: pace)
        }
        let manifest = try describe(at: createdAt, wasRunning: lock == nil)
        withExtendedLifetime(lock) {}
        let path = "\(partial)/\(BackupFile.manifest)"
        let descriptor = try BackupFile.create(path)
        defer { close(descriptor) }
        try BackupFile.write(manifest.bytes, to: descriptor, of: path)
        guard fsync(descriptor) == 0 else { throw BackupFile.failure("cannot sync \(path)") }
        return manifest
    }

    /// Returns the lock of the directory, or nil if a Carillon runs on it.
    private func lockIfStopped() throws(StartError) -> DataLock? {
        do throws(StartError) {
            return try DataLock(directory: source)
        } catch {
            if error.code == .tryAgain { return nil }
            throw error
        }
    }

    private func checkSpace(_ names: [String]) throws(StartError) {
        var needed: UInt64 = 0
        for name in names where BackupFile.isKnown(name) {
            for end in ["", "-wal"] {
                var status = stat()
                if lstat("\(source)/\(name)\(end)", &status) == 0 { needed += UInt64(clamping: status.st_size) }
            }
        }
        guard let space = DiskSpace.bytes(of: partial), space.available < needed else { return }
        throw StartError(
            .failed,
            "cannot write \(partial): the backup may need \((needed >> 20) + 1) MiB and the file system has "
                + "\(space.available >> 20) MiB; free space, or name another directory")
    }

    private func copy(_ snapshot: FileSnapshot, as name: String, at pace: BackupPace) throws {
        let target = "\(partial)/\(name)"
        // SQLite would create it with the rights of the umask.
        close(try BackupFile.create(target))
        var size = 0
        _ = try snapshot.copy(to: target) { copied, all in
            size = all
            pace.copied(copied, of: all, in: name, to: target)
            return true
        }
        try FileSnapshot.settle(target)
        pace.ended(name, after: size)
    }

    /// Copies a database that nobody uses, with the write-ahead log that a killed process has left.
    private func copyStopped(_ name: String, at pace: BackupPace) throws {
        var size = try copyBytes(name, as: name, at: pace)
        if BackupFile.exists("\(source)/\(name)-wal") { size += try copyBytes("\(name)-wal", as: name, at: pace) }
        let target = "\(partial)/\(name)"
        do {
            try FileSnapshot.settle(target)
        } catch {
            throw StartError(.failed, error.description)
        }
        pace.ended(name, after: size)
    }

    private func copySmall(_ name: String, at pace: BackupPace) throws(StartError) {
        // A spool may be removed at any time: the ledger, which is copied later, has its content then.
        if BackupFile.isSpool(name), !BackupFile.exists("\(source)/\(name)") { return }
        pace.ended(name, after: try copyBytes(name, as: name, at: pace))
    }

    private func copyBytes(
        _ name: String, as shown: String, at pace: BackupPace
    ) throws(StartError) -> Int {
        let (from, size) = try BackupFile.open("\(source)/\(name)")
        defer { close(from) }
        let target = "\(partial)/\(name)"
        let to = try BackupFile.create(target)
        defer { close(to) }
        var copied = 0
        try BackupFile.read(from, of: "\(source)/\(name)") { (piece) throws(StartError) in
            try BackupFile.write(piece, to: to, of: target)
            copied += piece.count
            pace.copied(copied, of: max(copied, Int(size)), in: shown, to: target)
        }
        return copied
    }

    // MARK: The manifest

    private func describe(at time: WallTime, wasRunning: Bool) throws -> BackupManifest {
        let ledger: LedgerFacts
        var registry = RegistryFacts()
        var versions: [String: Int64] = [:]
        do {
            ledger = try LedgerFacts(of: "\(partial)/\(BackupFile.ledger)")
            versions[BackupFile.ledger] = ledger.version
            if BackupFile.exists("\(partial)/\(BackupFile.registry)") {
                registry = try RegistryFacts(of: "\(partial)/\(BackupFile.registry)")
                versions[BackupFile.registry] = registry.version
            }
        } catch {
            throw StartError(.failed, error.description)
        }
        var files: [BackupManifest.File] = []
        for name in try BackupFile.names(in: partial) {
            let path = "\(partial)/\(name)"
            let (descriptor, size) = try BackupFile.open(path)
            defer { close(descriptor) }
            let digest = try BackupFile.digest(descriptor, of: path)
            // The pages may not be on disk yet, and they are now in the cache.
            guard fsync(descriptor) == 0 else { throw BackupFile.failure("cannot sync \(path)") }
            files.append(BackupManifest.File(name: name, size: size, sha256: digest, version: versions[name]))
        }
        return BackupManifest(
            createdAt: time, host: BackupManifest.hostName, wasRunning: wasRunning, seq: ledger.newest,
            registrySeq: min(registry.applied, ledger.newest), events: ledger.events, scheduled: ledger.scheduled,
            messageIDs: ledger.messageIDs, devices: registry.devices, apiKeys: registry.apiKeys, files: files)
    }
}
