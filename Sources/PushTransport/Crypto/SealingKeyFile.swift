import Glibc
import PushLoop

/// The file of a ``SealingKey``: one line of Base64URL, readable only by its owner. All functions block.
package enum SealingKeyFile {
    /// Reads the key; nil if there is no file.
    package static func read(_ path: String) throws(CryptoError) -> SealingKey? {
        var status = stat()
        if unsafe lstat(path, &status) != 0, errno == ENOENT { return nil }
        let damaged = CryptoError(
            .malformedPEM, message: "\(path) does not contain a sealing key; restore it from a backup")
        var bytes = try BoundedFile.read(path, limit: 256)
        defer { wipe(&bytes) }
        if let caution = SecretFile.cautions([path]).first { throw CryptoError(.unreadableFile, message: caution) }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.last == 0x0a, let key = Base64URL.decode(String(text.dropLast())), let key = SealingKey(key)
        else { throw damaged }
        return key
    }

    /// Creates the file with a new key, and returns the key when the file is on disk. If another process creates it at
    /// the same time, returns the key of that process.
    package static func create(_ path: String) throws(CryptoError) -> SealingKey {
        let key = SealingKey.generate()
        let draft = "\(path).\(getpid()).new"
        unsafe unlink(draft)
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer { unsafe unlink(draft) }
        var line = Array("\(key.text)\n".utf8)
        defer { wipe(&line) }
        let count = unsafe write(descriptor, line, line.count)
        // A short write means a full disk: 44 bytes are otherwise written at once.
        let isWritten = count == line.count && fsync(descriptor) == 0
        let error = failure(path)
        close(descriptor)
        guard isWritten else { throw error }
        guard unsafe link(draft, path) == 0 else {
            let error = failure(path)
            if errno == EEXIST, let other = try read(path) { return other }
            throw error
        }
        syncDirectory(of: path)
        return key
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
