private import COpenSSL

/// OpenSSL's context for signing or verifying SHA-256 digests with one key, initialized once.
@safe
struct SignatureContext: ~Copyable, @unchecked Sendable {
    // Unchecked: the owners keep the value in a lock.
    private let context: OpaquePointer

    /// - Parameter algorithm: Its name in JSON Web Tokens, for the error.
    init(_ key: KeyHandle, for algorithm: StaticString, isForSigning: Bool) throws(CryptoError) {
        OpenSSLErrors.clear()
        guard let context = unsafe EVP_PKEY_CTX_new(key.pointer, nil) else { fatalError("out of memory") }
        unsafe self.context = context
        let begun = unsafe isForSigning ? EVP_PKEY_sign_init(context) : EVP_PKEY_verify_init(context)
        guard begun == 1,
            unsafe !key.isRSA || EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        else {
            throw CryptoError(
                .failed, message: "the key cannot be used for \(algorithm): \(OpenSSLErrors.drain().text)")
        }
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
    }

    /// Returns the signature as OpenSSL encodes it; nil if that fails.
    mutating func sign(_ digest: Digest256) -> [UInt8]? {
        OpenSSLErrors.clear()
        return unsafe digest.withBytes { digest in
            let bytes = unsafe digest.assumingMemoryBound(to: UInt8.self).baseAddress
            var length = 0
            guard unsafe EVP_PKEY_sign(context, nil, &length, bytes, digest.count) == 1 else { return nil }
            var signature = [UInt8](repeating: 0, count: length)
            guard unsafe EVP_PKEY_sign(context, &signature, &length, bytes, digest.count) == 1 else { return nil }
            return Array(signature.prefix(length))
        }
    }

    /// - Parameter signature: As OpenSSL encodes it.
    mutating func verify(_ digest: Digest256, signature: [UInt8]) -> Bool {
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        return unsafe digest.withBytes { digest in
            unsafe EVP_PKEY_verify(
                context, signature, signature.count, digest.assumingMemoryBound(to: UInt8.self).baseAddress,
                digest.count) == 1
        }
    }
}
