/// Immutable bytes that all senders share. Passing them to another actor or loop copies nothing.
@safe
package final class SharedBytes: @unchecked Sendable {
    // Unchecked: the memory is written only in `init`.
    private let storage: UnsafeMutableRawBufferPointer

    package init(_ bytes: UnsafeRawBufferPointer) {
        unsafe storage = .allocate(byteCount: bytes.count, alignment: 1)
        unsafe storage.copyMemory(from: bytes)
    }

    package init(_ bytes: [UInt8]) {
        unsafe storage = .allocate(byteCount: bytes.count, alignment: 1)
        unsafe storage.copyBytes(from: bytes)
    }

    package convenience init(_ text: String) {
        self.init(Array(text.utf8))
    }

    deinit {
        unsafe storage.deallocate()
    }

    package var count: Int { unsafe storage.count }

    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe try body(UnsafeRawBufferPointer(storage))
    }

    /// The bytes, for C code that keeps the pointer while another object keeps this one alive.
    @unsafe var unsafeBytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(storage) }
}
