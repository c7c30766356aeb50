/// Immutable bytes that all senders share. Passing them to another actor or loop copies nothing.
@safe
package final class SharedBytes: @unchecked Sendable {
    // Unchecked: the memory is written only in `init`.
    private let storage: UnsafeMutableRawBufferPointer

    package init(_ bytes: [UInt8]) {
        unsafe storage = .allocate(byteCount: bytes.count, alignment: 1)
        unsafe storage.copyBytes(from: bytes)
    }

    deinit {
        unsafe storage.deallocate()
    }

    /// The bytes, for C code that keeps the pointer while another object keeps this one alive.
    @unsafe var unsafeBytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(storage) }
}
