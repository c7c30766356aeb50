/// A byte buffer: bytes are appended at the end and consumed from the front, in contiguous memory.
///
/// Consuming costs nothing. The remaining bytes move to the front only when the room at the end is used up, so the
/// number of moves per byte is bounded. An emptied queue frees its memory if that is larger than `keptCapacity`.
@safe
package struct ByteQueue: ~Copyable {
    /// The default for `keptCapacity`, for connections that are seldom idle.
    package static let burstCapacity = 256 * 1024

    /// The capacity that an empty queue keeps for the next burst.
    private let keptCapacity: Int
    private var storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    package init(keepingCapacity keptCapacity: Int = ByteQueue.burstCapacity) {
        self.keptCapacity = keptCapacity
        unsafe storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }

    deinit {
        unsafe storage.deallocate()
    }

    package var count: Int { end - start }
    package var isEmpty: Bool { end == start }

    /// Calls `body` with the bytes in the queue, which are valid until the queue changes.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe try body(UnsafeRawBufferPointer(rebasing: storage[start..<end]))
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0, let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        unsafe (storage.baseAddress! + end).copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    package mutating func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    /// Lets `body` write up to `capacity` bytes at the end and return the number of written bytes.
    package mutating func append<Failure: Error>(
        upTo capacity: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        reserve(capacity)
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: storage[end..<end + capacity])
        let written = unsafe try body(room)
        precondition(written >= 0 && written <= capacity, "a writer returned \(written) for \(capacity) bytes")
        end += written
    }

    /// Returns the memory of the next `capacity` bytes. It is valid until the queue changes; `grow` adds what was written
    /// there.
    @unsafe mutating func room(for capacity: Int) -> UnsafeMutableRawPointer {
        reserve(capacity)
        return unsafe storage.baseAddress! + end
    }

    /// Adds bytes that were written to the memory that `room` returned.
    mutating func grow(by count: Int) {
        precondition(unsafe count >= 0 && count <= storage.count - end, "\(count) bytes without room")
        end += count
    }

    /// Removes bytes from the front.
    package mutating func consume(_ amount: Int) {
        precondition(amount >= 0 && amount <= count, "consumed \(amount) bytes of \(count)")
        start += amount
        if start == end {
            removeAll()
        }
    }

    package mutating func removeAll() {
        start = 0
        end = 0
        if unsafe storage.count > keptCapacity {
            unsafe storage.deallocate()
            unsafe storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
    }

    private mutating func reserve(_ amount: Int) {
        if unsafe storage.count - end >= amount { return }
        let held = count
        if unsafe storage.count - held >= amount, start >= held {
            // The storage is not empty here: an empty one has no room for any amount.
            unsafe storage.baseAddress!.copyMemory(from: storage.baseAddress! + start, byteCount: held)
        } else {
            let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(2 * storage.count, held + amount, 1024), alignment: 16)
            if held > 0 {
                unsafe larger.baseAddress!.copyMemory(from: storage.baseAddress! + start, byteCount: held)
            }
            unsafe storage.deallocate()
            unsafe storage = larger
        }
        start = 0
        end = held
    }
}
