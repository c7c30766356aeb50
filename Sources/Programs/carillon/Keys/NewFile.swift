import Glibc
import PushLoop

/// Writes a secret to a file atomically, readable only by its owner.
enum NewFile {
    static func write(_ secret: Secret<String>, to path: String, replacing: Bool) throws {
        let isWritten: Bool
        do throws(SystemError) {
            isWritten = try secret.withRevealed { text throws(SystemError) in
                let bytes = Array(text.utf8)
                guard replacing else { return try WholeFile.create(bytes, at: path, until: .content) }
                try WholeFile.write(bytes, to: path, by: .several, until: .content)
                return true
            }
        } catch {
            throw Failure(.notPermitted, "cannot write \(path): \(error); choose another file")
        }
        guard isWritten else { throw Failure(.notPermitted, "\(path) already exists; use --force to overwrite it") }
    }
}
