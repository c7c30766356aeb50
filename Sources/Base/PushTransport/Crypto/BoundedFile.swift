import Glibc
package import PushLoop

/// Functions that read small files: keys, certificates, passwords, configurations. They block. They read at most one
/// buffer more than `limit`, so that the caller can detect and reject files that are too large.
package enum BoundedFile {
    /// Reads a regular file. Other files are rejected, because a named pipe or a terminal would block until somebody
    /// writes to it. Throws `unreadableFile` with the reason.
    package static func read(_ path: String, limit: Int) throws(CryptoError) -> [UInt8] {
        // Without O_NONBLOCK, opening a named pipe waits for a writer. The flag has no effect on regular files.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            throw CryptoError(.unreadableFile, message: "cannot open \(path): \(SystemError.current)")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw CryptoError(.unreadableFile, message: "cannot read \(path): \(SystemError.current)")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CryptoError(
                .unreadableFile, message: "cannot read \(path): it is \(kind(of: status.st_mode)), not a regular file")
        }
        do {
            return try read(from: descriptor, limit: limit)
        } catch {
            throw CryptoError(.unreadableFile, message: "cannot read \(path): \(error)")
        }
    }

    private static func kind(of mode: mode_t) -> String {
        switch mode & S_IFMT {
        case S_IFIFO: "a named pipe"
        case S_IFDIR: "a directory"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    /// Opens a file for reading. The caller must close the descriptor.
    package static func openToRead(_ path: String) throws(SystemError) -> CInt {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.current }
        return descriptor
    }

    package static func read(from descriptor: CInt, limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        // Reserve the capacity first: a growing array leaves copies of its content, possibly a key, in freed memory.
        var status = stat()
        if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            bytes.reserveCapacity(min(max(Int(status.st_size), 0), limit) + 16 * 1024)
        }
        var piece = [UInt8](repeating: 0, count: 16 * 1024)
        defer { wipe(&piece) }
        while bytes.count <= limit {
            let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { break }
            guard count > 0 else {
                let error = SystemError.current
                if error.number == EINTR { continue }
                throw error
            }
            bytes.append(contentsOf: piece[..<count])
        }
        return bytes
    }
}
