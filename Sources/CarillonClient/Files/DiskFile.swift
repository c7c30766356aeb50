import Glibc

/// System calls on files that may block.
enum DiskFile {
    static func write(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = unsafe Glibc.write(
                    descriptor, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }

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

    static func syncDirectory(_ path: String) -> Bool {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}
