import Glibc
import PushLoop

/// Writes a secret to a file atomically, readable only by its owner.
enum NewFile {
    static func write(_ secret: Secret<String>, to path: String, replacing: Bool) throws {
        let taken = Failure(.notPermitted, "\(path) already exists; use --force to overwrite it")
        // This check gives a clear error before anything is written; `link` below is what prevents overwriting.
        if !replacing, access(path, F_OK) == 0 { throw taken }
        let draft = "\(path).\(getpid()).new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer { unlink(draft) }
        let isWritten = secret.withRevealed { text in
            writeAll(Array(text.utf8), to: descriptor) && fsync(descriptor) == 0
        }
        let error = failure(path)
        guard close(descriptor) == 0, isWritten else { throw error }
        guard (replacing ? rename(draft, path) : link(draft, path)) == 0 else {
            throw errno == EEXIST ? taken : failure(path)
        }
    }

    /// Writes all bytes, with more calls if one is interrupted or writes only a part. Returns false if a call fails.
    static func writeAll(
        _ bytes: [UInt8], to descriptor: Int32, write: (Int32, UnsafeRawPointer?, Int) -> Int = Glibc.write
    ) -> Bool {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    private static func failure(_ path: String) -> Failure {
        Failure(.notPermitted, "cannot write \(path): \(SystemError.current); choose another file")
    }
}
