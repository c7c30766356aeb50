import Glibc
package import PushLoop

/// Reads small files: keys, certificates, passwords, configurations. All methods block, and read at most one piece more
/// than `limit`: who asked judges what is too large.
package enum BoundedFile {
    /// `unreadableFile` says why.
    package static func read(_ path: String, limit: Int) throws(CryptoError) -> [UInt8] {
        let descriptor: CInt
        do {
            descriptor = try openToRead(path)
        } catch {
            throw CryptoError(.unreadableFile, "cannot open \(path): \(error)")
        }
        defer { close(descriptor) }
        do {
            return try read(from: descriptor, limit: limit)
        } catch {
            throw CryptoError(.unreadableFile, "cannot read \(path): \(error)")
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
