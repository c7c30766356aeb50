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
        do throws(SystemError) {
            defer { close(descriptor) }
            try FileCalls.write(bytes, to: descriptor)
            try FileCalls.sync(descriptor)
        } catch {
            throw failure(path, because: error)
        }
        guard unsafe link(draft, path) == 0 else {
            let error = failure(path)
            if errno == EEXIST { return false }
            throw error
        }
        // Otherwise, a power failure could remove the only key of secrets that were sealed with it. A directory that does
        // not allow this does not make the key less useful now.
        try? FileCalls.syncDirectory(FileCalls.directory(of: path))
        return true
    }

    private static func failure(_ path: String, because error: SystemError = .current) -> CryptoError {
        CryptoError(.unreadableFile, message: "cannot write \(path): \(error)")
    }
}
