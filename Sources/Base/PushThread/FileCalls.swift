import Glibc

/// Calls on files that go on until all of their work is done. They block.
package enum FileCalls {
    /// Writes all bytes, with more calls if one is interrupted or writes only a part.
    package static func write(_ bytes: [UInt8], to descriptor: CInt) throws(SystemError) {
        try unsafe write(bytes, to: descriptor, by: Glibc.write)
    }

    /// Writes all bytes with calls like those of `write`.
    package static func write(
        _ bytes: [UInt8], to descriptor: CInt, by call: (CInt, UnsafeRawPointer?, Int) -> Int
    ) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe call(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // A write of no bytes sets no error number.
            guard count != 0 else { throw SystemError(number: ENOSPC) }
            guard count > 0 else { throw .current }
            rest = rest.dropFirst(count)
        }
    }

    /// Makes the bytes of an open file durable.
    package static func sync(_ descriptor: CInt) throws(SystemError) {
        guard fsync(descriptor) == 0 else { throw .current }
    }

    /// Makes the names in a directory durable: without it, a power failure could remove a new file.
    package static func syncDirectory(_ path: String) throws(SystemError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .current }
        defer { close(descriptor) }
        try sync(descriptor)
    }

    /// Returns the directory of a path.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
