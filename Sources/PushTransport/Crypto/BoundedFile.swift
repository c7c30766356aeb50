import Glibc
import PushLoop

/// Reads files that hold keys, certificates or passwords: small ones, or none.
package enum BoundedFile {
    /// The bytes of a file, and at most one chunk more than `limit` of them: who asked judges what is too large.
    /// Blocks. `unreadableFile` says why.
    package static func read(_ path: String, limit: Int) throws(CryptoError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CryptoError(.unreadableFile, "cannot open \(path): \(SystemError.current)")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        defer { wipe(&chunk) }
        while bytes.count <= limit {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { break }
            guard count > 0 else {
                let error = SystemError.current
                if error.number == EINTR { continue }
                throw CryptoError(.unreadableFile, "cannot read \(path): \(error)")
            }
            bytes.append(contentsOf: chunk[..<count])
        }
        return bytes
    }
}
