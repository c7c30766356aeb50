import Glibc

/// A growing buffer of bytes in network order. It keeps its memory when it is cleared.
@safe
struct BinaryBuffer: ~Copyable {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0
    /// Whether the system refused memory. The content is then incomplete.
    private(set) var isExhausted = false

    init() {}

    deinit {
        unsafe free(memory)
    }

    mutating func clear() {
        count = 0
        isExhausted = false
    }

    /// Returns room for more bytes at the end; nil if there is no memory.
    @unsafe
    private mutating func grow(by more: Int) -> UnsafeMutableRawPointer? {
        let (needed, overflow) = count.addingReportingOverflow(more)
        guard !overflow, !isExhausted else {
            isExhausted = true
            return nil
        }
        if unsafe needed > capacity || memory == nil {
            // Doubling can overflow only for sizes that no system has.
            let wanted = max(needed, capacity &* 2, 256)
            guard let larger = unsafe realloc(memory, wanted) else {
                isExhausted = true
                return nil
            }
            unsafe memory = larger
            capacity = wanted
        }
        let start = count
        count = needed
        return unsafe memory.map { unsafe $0 + start }
    }

    mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        guard let room = unsafe grow(by: MemoryLayout<Value>.size) else { return }
        unsafe room.storeBytes(of: value.bigEndian, as: Value.self)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let room = unsafe grow(by: bytes.count), let start = bytes.baseAddress else { return }
        unsafe room.copyMemory(from: start, byteCount: bytes.count)
    }

    /// Replaces an integer that was written before.
    mutating func replace(_ value: Int32, at offset: Int) {
        guard offset >= 0, offset <= count - 4, let memory = unsafe memory else { return }
        unsafe (memory + offset).storeBytes(of: value.bigEndian, as: Int32.self)
    }

    /// The first byte. It is nil before the first append, and moves with appends.
    @unsafe var start: UnsafeRawPointer? { unsafe UnsafeRawPointer(memory) }
}
