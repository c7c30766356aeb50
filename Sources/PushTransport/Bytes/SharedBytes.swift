/// Bytes that never change, shared by everything that sends them. Crossing an actor or a loop copies nothing.
@safe
package final class SharedBytes: @unchecked Sendable {
    // Unchecked: the memory is written in `init` only.
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

    /// For C that keeps the pointer while something else keeps this object.
    @unsafe var unsafeBytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(storage) }
}
