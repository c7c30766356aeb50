import Glibc
import PushConfiguration
import PushLoop

/// The exchange of the files of a data directory for restored ones, which a kill cannot leave half done.
///
/// All restored files are in a directory inside the data directory. The directory's name `restore.ready` decides: from
/// then on the exchange is completed by whoever locks the data directory next. Each step may be repeated. The files that
/// were there are moved to a directory beside the new ones and never removed.
enum RestoreSwap {
    /// The restored files, while they are being copied.
    static let partial = "restore.partial"
    /// The restored files, complete.
    static let ready = "restore.ready"
    /// The beginning of the name of a directory with earlier files.
    static let before = "before-restore-"

    /// The names that are not exchanged.
    private static func stays(_ name: String) -> Bool {
        [BackupFile.lock, "control.sock", "lost+found", partial, ready].contains(name) || name.hasPrefix(before)
    }

    /// The names of what a restore would replace.
    static func contents(of directory: String) throws(StartError) -> [String] {
        try BackupFile.names(in: directory).filter { !stays($0) }
    }

    /// Declares that the restored files are complete, and exchanges them. Returns the directory with the earlier files;
    /// nil if there were none. The caller holds the lock of the data directory.
    static func commit(in directory: String, earlier: String?) throws(StartError) -> String? {
        let new = "\(directory)/\(partial)"
        if let earlier {
            // Its name is in the restored files, so that a repetition uses the same one.
            let path = "\(new)/\(nameFile)"
            let descriptor = try BackupFile.create(path)
            defer { close(descriptor) }
            try BackupFile.write(Array(earlier.utf8), to: descriptor, of: path)
            guard fsync(descriptor) == 0 else { throw BackupFile.failure("cannot sync \(path)") }
        }
        try BackupFile.sync(new)
        guard rename(new, "\(directory)/\(ready)") == 0 else {
            throw BackupFile.failure("cannot rename \(new)")
        }
        try BackupFile.sync(directory)
        try finish(in: directory)
        return earlier.map { "\(directory)/\($0)" }
    }

    private static let nameFile = "earlier"

    /// Completes an exchange that was begun, and removes the copy of a restore that was killed before it was decided.
    /// The caller holds the lock of the data directory.
    static func finish(in directory: String) throws(StartError) {
        removePartial(in: directory)
        let new = "\(directory)/\(ready)"
        guard BackupFile.exists(new) else { return }
        let restored = try BackupFile.names(in: new).filter { $0 != nameFile }
        let earlier = try earlier(in: new)
        if let earlier { try moveAway(directory, to: earlier) }
        for name in restored { try move("\(new)/\(name)", to: "\(directory)/\(name)") }
        try BackupFile.sync(directory)
        // In this order: without the name, a repetition moves nothing away.
        unlink("\(new)/\(nameFile)")
        guard rmdir(new) == 0 else { throw BackupFile.failure("cannot remove \(new)") }
        try BackupFile.sync(directory)
        if let earlier { unlink("\(directory)/\(earlier)/\(movedFile)") }
    }

    /// Without this, the copy would take its room until the next restore. A failure costs no more than that.
    private static func removePartial(in directory: String) {
        let copy = "\(directory)/\(partial)"
        var status = stat()
        // A link would lead to files of somebody else.
        guard lstat(copy, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
            let names = try? BackupFile.names(in: copy)
        else { return }
        for name in names { unlink("\(copy)/\(name)") }
        rmdir(copy)
    }

    private static func earlier(in new: String) throws(StartError) -> String? {
        let path = "\(new)/\(nameFile)"
        guard BackupFile.exists(path) else { return nil }
        let (descriptor, _) = try BackupFile.open(path)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        try BackupFile.read(descriptor, of: path) { bytes += $0 }
        let name = String(decoding: bytes, as: UTF8.self)
        guard name.hasPrefix(before), name.utf8.allSatisfy({ $0 != UInt8(ascii: "/") && $0 > 0x20 }) else {
            throw StartError(.failed, "\(path) is damaged; move the files of \(new) to the data directory by hand")
        }
        return name
    }

    /// Moves the earlier files away, unless all of them are: then those in the data directory are restored ones.
    private static func moveAway(_ directory: String, to earlier: String) throws(StartError) {
        let old = "\(directory)/\(earlier)"
        if mkdir(old, 0o700) != 0, errno != EEXIST { throw BackupFile.failure("cannot create \(old)") }
        let moved = "\(old)/\(movedFile)"
        if BackupFile.exists(moved) { return }
        for name in try contents(of: directory) { try move("\(directory)/\(name)", to: "\(old)/\(name)") }
        close(try BackupFile.create(moved))
        try BackupFile.sync(old)
        try BackupFile.sync(directory)
    }

    /// A file in the directory of the earlier files that exists when all of them are there.
    private static let movedFile = "complete"

    private static func move(_ path: String, to target: String) throws(StartError) {
        guard rename(path, target) == 0 else { throw BackupFile.failure("cannot move \(path) to \(target)") }
    }
}
