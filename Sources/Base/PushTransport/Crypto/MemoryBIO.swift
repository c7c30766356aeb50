private import COpenSSL

/// A memory BIO, as OpenSSL's PEM functions require.
@safe
struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// Creates an empty BIO for writing.
    init() {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { fatalError("out of memory") }
        unsafe pointer = bio
    }

    /// Creates a BIO for reading a copy of `bytes`.
    init(_ bytes: [UInt8]) {
        self.init()
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe _ = BIO_write(pointer, bytes.baseAddress, CInt(bytes.count))
        }
    }

    deinit {
        unsafe BIO_free(pointer)
    }

    /// The bytes written to the BIO.
    var bytes: [UInt8] {
        var data: UnsafeMutablePointer<CChar>?
        let count = unsafe COpenSSL_memory(pointer, &data)
        guard count > 0, let data = unsafe data else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: data, count: count))
    }
}
