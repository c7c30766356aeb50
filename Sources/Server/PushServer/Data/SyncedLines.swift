import Glibc
import PushConfiguration

/// A file of lines that grows at its end.
enum SyncedLines {
    /// Adds lines, and syncs them to disk.
    ///
    /// - Parameters:
    ///   - maxBytes: A file of this size does not grow.
    ///   - directory: The directory of the file, whose user owns it.
    static func add(
        _ bytes: [UInt8], to path: String, in directory: String, maxBytes: Int64
    ) throws(StartError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw BackupFile.failure("cannot write \(path)") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
            status.st_size < maxBytes
        else { throw StartError(.failed, "cannot write \(path): it is no file of its own, or too large") }
        BackupFile.giveToOwner(descriptor, of: directory)
        try BackupFile.write(bytes, to: descriptor, of: path)
        guard fsync(descriptor) == 0 else { throw BackupFile.failure("cannot sync \(path)") }
    }
}
