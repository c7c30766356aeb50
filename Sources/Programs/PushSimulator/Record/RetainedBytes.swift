/// The variable-length bytes of the records, in a ring: new bytes overwrite the oldest ones.
@safe
struct RetainedBytes: ~Copyable {
    private let storage: UnsafeMutableRawPointer
    let capacity: Int
    /// The number of bytes ever written, which is the position of the next byte.
    private(set) var end: UInt64 = 0
    private var cursor = 0

    init(capacity: Int) {
        self.capacity = capacity
        unsafe storage = .allocate(byteCount: max(capacity, 1), alignment: 16)
    }

    deinit {
        unsafe storage.deallocate()
    }

    /// Appends bytes. Their count must not exceed `capacity`.
    @inline(__always)
    mutating func append(_ bytes: ByteView) {
        precondition(bytes.count <= capacity, "more bytes than the ring holds")
        let first = min(bytes.count, capacity - cursor)
        unsafe bytes.prefix(first).copy(to: storage + cursor)
        if first < bytes.count { unsafe bytes.dropFirst(first).copy(to: storage) }
        cursor += bytes.count
        if cursor >= capacity { cursor -= capacity }
        end += UInt64(bytes.count)
    }

    /// Returns whether the bytes written from this position on have not been overwritten.
    func holds(from start: UInt64) -> Bool { end - start <= UInt64(capacity) }

    /// Returns bytes by their position, or nil if newer bytes have overwritten them.
    func bytes(from start: UInt64, count: Int) -> [UInt8]? {
        guard start + UInt64(count) <= end, holds(from: start) else { return nil }
        if count == 0 { return [] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var offset = Int(start % UInt64(capacity))
        for _ in 0..<count {
            bytes.append(unsafe storage.load(fromByteOffset: offset, as: UInt8.self))
            offset += 1
            if offset == capacity { offset = 0 }
        }
        return bytes
    }
}
