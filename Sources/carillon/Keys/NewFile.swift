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
        do throws(SystemError) {
            try secret.withRevealed { text throws(SystemError) in
                try write(text, to: descriptor)
            }
        } catch {
            throw failure(path, because: error)
        }
        guard (replacing ? rename(draft, path) : link(draft, path)) == 0 else {
            throw errno == EEXIST ? taken : failure(path)
        }
    }

    /// Writes and closes a new file, so that it is on disk.
    static func write(_ text: String, to descriptor: CInt) throws(SystemError) {
        do throws(SystemError) {
            try FileCalls.write(Array(text.utf8), to: descriptor)
            try FileCalls.sync(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        guard close(descriptor) == 0 else { throw .current }
    }

    private static func failure(_ path: String, because error: SystemError = .current) -> Failure {
        Failure(.notPermitted, "cannot write \(path): \(error); choose another file")
    }
}
