import Glibc
package import PushLoop

/// Reads small files: keys, certificates, passwords, configurations. All methods block, and read at most one piece more
/// than `limit`: who asked judges what is too large.
package enum BoundedFile {
    /// Reads a regular file: a named pipe or a terminal would block for as long as nobody writes to it. `unreadableFile`
    /// says why it cannot be read.
    package static func read(_ path: String, limit: Int) throws(CryptoError) -> [UInt8] {
        // Without O_NONBLOCK the open itself waits for somebody to write to a named pipe. Regular files do not care.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            throw CryptoError(.unreadableFile, "cannot open \(path): \(SystemError.current)")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw CryptoError(.unreadableFile, "cannot read \(path): \(SystemError.current)")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CryptoError(
                .unreadableFile, "cannot read \(path): it is \(kind(of: status.st_mode)), not a regular file")
        }
        do {
            return try read(from: descriptor, limit: limit)
        } catch {
            throw CryptoError(.unreadableFile, "cannot read \(path): \(error)")
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

    /// The descriptor is the caller's to close.
    package static func openToRead(_ path: String) throws(SystemError) -> CInt {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.current }
        return descriptor
    }

    package static func read(from descriptor: CInt, limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        // An array that grows leaves copies of its content, which may be a key, in freed memory.
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
