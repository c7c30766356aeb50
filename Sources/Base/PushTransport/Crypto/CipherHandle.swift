private import COpenSSL

/// An owner of an OpenSSL cipher context.
@safe
struct CipherHandle: ~Copyable {
    let pointer: OpaquePointer

    init() {
        guard let pointer = unsafe EVP_CIPHER_CTX_new() else { fatalError("out of memory") }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(pointer)
    }
}
