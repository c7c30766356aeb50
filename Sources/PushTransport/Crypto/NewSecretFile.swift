import Glibc
import PushLoop

/// A new file that only its owner can read.
package enum NewSecretFile {
    /// Creates the file with these bytes, as a whole and durably. Returns false, without changing anything, if there is a
    /// file of this name. Blocks.
    package static func create(_ path: String, _ bytes: [UInt8]) throws(CryptoError) -> Bool {
        let draft = "\(path).\(getpid()).new"
        unsafe unlink(draft)
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer { unsafe unlink(draft) }
        let count = unsafe write(descriptor, bytes, bytes.count)
        // A short write means a full disk: these few bytes are otherwise written at once.
        let isWritten = count == bytes.count && fsync(descriptor) == 0
        let error = failure(path)
        close(descriptor)
        guard isWritten else { throw error }
        guard unsafe link(draft, path) == 0 else {
            let error = failure(path)
            if errno == EEXIST { return false }
            throw error
        }
        syncDirectory(of: path)
        return true
    }

    /// Makes the name of the file durable. Without it, a power cut could remove the only key of secrets that were sealed
    /// with it.
    private static func syncDirectory(of path: String) {
        let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let descriptor = unsafe open(parent.isEmpty ? "/" : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func failure(_ path: String) -> CryptoError {
        CryptoError(.unreadableFile, message: "cannot write \(path): \(SystemError.current)")
    }
}
