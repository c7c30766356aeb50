private import COpenSSL

/// An owner of one reference to an immutable key pair or public key. It never prints the key.
@safe
final class KeyHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over the caller's reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Reads a private key. Never prompts: an encrypted key without a password is an error.
    convenience init(_ block: PEMBlock, password: String?, name: String) throws(CryptoError) {
        let bio = MemoryBIO(block.text)
        var asked = PasswordRequest(password: Array((password ?? "").utf8), isGiven: password != nil)
        defer { wipe(&asked.password) }
        OpenSSLErrors.clear()
        let key = unsafe withUnsafeMutablePointer(to: &asked) { asked in
            unsafe PEM_read_bio_PrivateKey(bio.pointer, nil, givePassword, asked)
        }
        let errors = OpenSSLErrors.drain()
        guard let key = unsafe key else {
            if asked.wasAsked, password == nil {
                throw CryptoError(
                    .missingPassword, message: "\(name): the private key is encrypted and no password was given")
            }
            if asked.wasAsked {
                throw CryptoError(.wrongPassword, message: "\(name): wrong password for the private key")
            }
            throw CryptoError(.malformedPEM, message: "\(name): the private key cannot be read: \(errors.text)")
        }
        unsafe self.init(owning: key)
        guard isConsistent else {
            throw CryptoError(
                .malformedPEM,
                message: "\(name): the private key is damaged: the public key in it does not match")
        }
    }

    /// Whether the public key in the file matches the private key. If it does not, nobody can verify the signatures.
    /// Only elliptic curve keys are checked, because the check takes a large part of a second for RSA.
    var isConsistent: Bool {
        guard unsafe EVP_PKEY_is_a(pointer, "EC") == 1 else { return true }
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        guard let context = unsafe EVP_PKEY_CTX_new(pointer, nil) else { fatalError("out of memory") }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        return unsafe EVP_PKEY_pairwise_check(context) == 1
    }

    var bits: Int { unsafe Int(EVP_PKEY_get_bits(pointer)) }

    var isRSA: Bool { unsafe EVP_PKEY_is_a(pointer, "RSA") == 1 || EVP_PKEY_is_a(pointer, "RSA-PSS") == 1 }

    var isP256: Bool {
        guard unsafe EVP_PKEY_is_a(pointer, "EC") == 1 else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1 else { return false }
        return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) == "prime256v1"
    }

    /// The kind of key for errors: "RSA, 2048 bits".
    var kind: String {
        let type = unsafe EVP_PKEY_get0_type_name(pointer).map { unsafe String(cString: $0) } ?? "unknown"
        return "\(type), \(bits) bits"
    }

    /// The key as unencrypted PKCS#8 PEM.
    var privatePEM: [UInt8] {
        let bio = MemoryBIO()
        unsafe PEM_write_bio_PKCS8PrivateKey(bio.pointer, pointer, nil, nil, 0, nil, nil)
        return bio.bytes
    }

    var publicDER: [UInt8] {
        let length = unsafe i2d_PUBKEY(pointer, nil)
        guard length > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            var position = bytes.baseAddress
            unsafe _ = i2d_PUBKEY(pointer, &position)
        }
        return bytes
    }

    var publicPEM: [UInt8] {
        let bio = MemoryBIO()
        unsafe PEM_write_bio_PUBKEY(bio.pointer, pointer)
        return bio.bytes
    }
}

private struct PasswordRequest {
    var password: [UInt8]
    let isGiven: Bool
    var wasAsked = false
}

/// Passes the password to OpenSSL. Without this callback OpenSSL would prompt on the terminal.
private func givePassword(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: CInt, _ isForWriting: CInt, _ context: UnsafeMutableRawPointer?
) -> CInt {
    guard let buffer = unsafe buffer, let request = unsafe context?.assumingMemoryBound(to: PasswordRequest.self)
    else { return -1 }
    unsafe request.pointee.wasAsked = true
    let count = unsafe request.pointee.password.count
    guard unsafe request.pointee.isGiven, count <= size else { return -1 }
    unsafe request.pointee.password.withUnsafeBytes { password in
        unsafe UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)).copyMemory(from: password)
    }
    return CInt(count)
}

extension PEMSource {
    /// Returns the first private key of the source.
    func privateKey(password: String?) throws(CryptoError) -> KeyHandle {
        let blocks = try blocks()
        guard let block = blocks.first(where: \.isPrivateKey) else {
            throw CryptoError(.noPrivateKey, message: "\(name) contains no private key, only \(Self.listing(blocks))")
        }
        return try KeyHandle(block, password: password, name: name)
    }
}
