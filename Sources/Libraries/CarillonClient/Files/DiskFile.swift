import Glibc

/// Reads of files, which may block.
enum DiskFile {
    static func read(_ path: String, from offset: Int64, count: Int64) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        return read(descriptor, from: offset, count: count)
    }

    static func read(_ descriptor: CInt, from offset: Int64, count: Int64) -> [UInt8] {
        let count = Int(clamping: max(0, count))
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let got = unsafe pread(
                    descriptor, buffer.baseAddress.map { unsafe $0 + initialized }, count - initialized,
                    off_t(offset) + off_t(initialized))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { return }
                initialized += got
            }
        }
    }
}
