import Glibc
import PushAPI
import PushConfiguration
import PushLoop
import PushModel
package import PushStore
import PushTime
import PushTransport

/// Copies a backup into a data directory on which no Carillon runs.
package struct Restore: Sendable {
    package struct Settings: Sendable {
        package var backup: String
        /// The data directory. It is created if it does not exist.
        package var target: String
        /// Whether files that are there are moved away. Otherwise they keep the backup from being restored.
        package var replaces = false
        package var waiting = RestoredLedger.Waiting.send

        package init(from backup: String, into target: String) {
            self.backup = BackupFile.trimmed(backup)
            self.target = BackupFile.trimmed(target)
        }
    }

    package struct Summary: Sendable {
        package let manifest: BackupManifest
        package let ledger: RestoredLedger.Summary
        /// The directory with the files that were there; nil if there were none.
        package let earlier: String?
    }

    private let settings: Settings
    private let report: BackupReport

    package init(_ settings: Settings, report: @escaping BackupReport = { _, _, _ in }) {
        self.settings = settings
        self.report = report
    }

    private var target: String { settings.target }
    private var partial: String { "\(settings.target)/\(RestoreSwap.partial)" }

    /// Restores the backup. The data directory is as it was if this throws, and restored if it returns; after a kill the
    /// next lock of the directory finds one of these.
    package func run() async throws -> Summary {
        let manifest = try BackupCheck.run(settings.backup, report: report)
        let lock = try DataLock(directory: target)
        let contents = try RestoreSwap.contents(of: target)
        guard contents.isEmpty || settings.replaces else {
            throw StartError(
                .badInput,
                "\(target) is not empty (it has \(contents.prefix(3).joined(separator: ", "))"
                    + "\(contents.count > 3 ? " and more" : "")); add --replace, which moves its files to a directory beside "
                    + "the restored ones, or name another directory with --data")
        }
        try clearPartial()
        do {
            try copy(manifest)
            let known = LedgerFacts.newest(ofStopped: "\(target)/\(BackupFile.ledger)")
            let ledger: RestoredLedger.Summary
            do {
                ledger = try await RestoredLedger(in: partial).prepare(
                    madeAt: manifest.createdAt, known: known, waiting: settings.waiting)
            } catch let error as StoreError {
                throw StartError(.failed, error.description)
            }
            try record(manifest)
            for name in try BackupFile.names(in: partial) {
                giveToOwner("\(partial)/\(name)")
                try BackupFile.sync("\(partial)/\(name)")
            }
            giveToOwner("\(target)/\(DataLock.fileName)")
            let earlier = contents.isEmpty ? nil : Self.earlierName(beside: target)
            let moved = try RestoreSwap.commit(in: target, earlier: earlier)
            if let moved { giveToOwner(moved) }
            withExtendedLifetime(lock) {}
            return Summary(manifest: manifest, ledger: ledger, earlier: moved)
        } catch {
            // Once the name has changed, this finds nothing.
            try? clearPartial()
            rmdir(partial)
            throw error
        }
    }

    /// Creates an empty directory for the restored files, and removes those of a restore that was killed.
    private func clearPartial() throws(StartError) {
        if mkdir(partial, 0o700) != 0 {
            var status = stat()
            guard errno == EEXIST, lstat(partial, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw BackupFile.failure("cannot create \(partial)")
            }
            for name in try BackupFile.names(in: partial) { unlink("\(partial)/\(name)") }
        }
    }

    private func copy(_ manifest: BackupManifest) throws(StartError) {
        if let space = DiskSpace.bytes(of: partial), space.available < UInt64(clamping: manifest.totalSize) {
            throw StartError(
                .failed,
                "cannot write \(target): the backup has \((manifest.totalSize >> 20) + 1) MiB and the file system has "
                    + "\(space.available >> 20) MiB; free space, or name another directory with --data")
        }
        for file in manifest.files {
            let (source, path) = ("\(settings.backup)/\(file.name)", "\(partial)/\(file.name)")
            let (from, size) = try BackupFile.open(source)
            defer { close(from) }
            let to = try BackupFile.create(path)
            defer { close(to) }
            var hasher = SHA256Hasher()
            var copied: Int64 = 0
            try BackupFile.read(from, of: source) { (piece) throws(StartError) in
                hasher.update(piece)
                try BackupFile.write(piece, to: to, of: path)
                copied += Int64(piece.count)
                report(file.name, Int(clamping: copied), Int(clamping: max(size, copied)))
            }
            // What was checked is what was copied.
            guard copied == file.size, hasher.finish().hex == file.sha256 else {
                throw StartError(
                    .badInput, "\(source) has changed since it was checked; restore a backup that nobody writes")
            }
        }
    }

    /// Records the restore, behind what was done before it and is not in the log yet.
    private func record(_ manifest: BackupManifest) throws(StartError) {
        let pending = PendingOperators(directory: partial)
        try pending.add(linesOf: PendingOperators(directory: target))
        try pending.add(
            OperatorChange(
                .operatorStoreRestored, of: "data directory",
                after: "a backup of \(manifest.createdAt.milliseconds)"))
    }

    /// Gives a file to the user whose directory it is in, if this is run by the superuser.
    private func giveToOwner(_ path: String) {
        var status = stat()
        guard geteuid() == 0, stat(target, &status) == 0 else { return }
        lchown(path, status.st_uid, status.st_gid)
    }

    /// Returns a name with the current time, as in `before-restore-20261125T203005Z`, that is not in use.
    private static func earlierName(beside directory: String) -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        func digits(_ number: CInt, count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let stamp =
            digits(parts.tm_year + 1900, count: 4) + digits(parts.tm_mon + 1) + digits(parts.tm_mday) + "T"
            + digits(parts.tm_hour) + digits(parts.tm_min) + digits(parts.tm_sec) + "Z"
        var name = RestoreSwap.before + stamp
        var number = 1
        while BackupFile.exists("\(directory)/\(name)") {
            number += 1
            name = "\(RestoreSwap.before)\(stamp)-\(number)"
        }
        return name
    }
}
