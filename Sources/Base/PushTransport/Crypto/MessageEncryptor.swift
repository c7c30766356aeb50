private import COpenSSL

/// Encrypts messages for browsers (RFC 8291): for each of them a new key pair on P-256, an agreement with the key of the
/// browser, and one record of AES-128-GCM (RFC 8188).
///
/// The key pair and the agreement are nearly all of the cost. They use OpenSSL's arithmetic on the curve itself, because
/// a key object for each message takes twice the time. Contexts and memory are reused, so an encryptor belongs to one
/// loop. What is secret is overwritten before a call returns.
@safe
package final class MessageEncryptor {
    /// The length of a public key: an uncompressed point.
    package static let publicKeyLength = 65
    /// The length of the secret that a browser gives with its key.
    package static let secretLength = 16
    package static let saltLength = 16
    /// The length of what precedes the encrypted record.
    package static let headLength = saltLength + 4 + 1 + publicKeyLength
    /// How much longer a body is than its message: the head, a delimiter and the tag.
    package static let overhead = headLength + 1 + tagLength
    /// The size of a record in the head. A body has only one, which is not longer.
    package static let recordSize = 4096

    private static let tagLength = 16

    /// The key pair and the salt of one message. Only test vectors give them.
    package struct Ephemeral {
        let privateKey: [UInt8]
        let salt: [UInt8]

        package init(privateKey: [UInt8], salt: [UInt8]) {
            precondition(privateKey.count == 32 && salt.count == MessageEncryptor.saltLength)
            self.privateKey = privateKey
            self.salt = salt
        }
    }

    // Fetched once and never changed.
    nonisolated(unsafe) private static let gcm: OpaquePointer = {
        guard let found = unsafe EVP_CIPHER_fetch(nil, "AES-128-GCM", nil) else {
            fatalError("OpenSSL has no AES-128-GCM")
        }
        return unsafe found
    }()

    private let curve: CurveArithmetic
    private let mac = ReusedHMAC()
    private let cipher: OpaquePointer
    /// The salts of the next messages. They are no secret, and a call for each costs more than their bytes.
    private var salts: ArraySlice<UInt8> = []
    /// The secrets of the current message, at the offsets of ``Place``.
    private let secrets: UnsafeMutablePointer<UInt8>

    private enum Place {
        static let agreed = 0
        static let first = 32
        static let material = 64
        static let second = 96
        static let keys = 128
        static let end = 192
    }

    package init() {
        guard let cipher = unsafe EVP_CIPHER_CTX_new() else { fatalError("out of memory") }
        unsafe self.cipher = cipher
        curve = CurveArithmetic()
        unsafe secrets = .allocate(capacity: Place.end)
        unsafe secrets.initialize(repeating: 0, count: Place.end)
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(cipher)
        unsafe secrets.deallocate()
    }

    /// Returns the body of a request with the encrypted message; nil if `publicKey` is not a point on the curve, or the
    /// message with its padding does not fit into one record.
    ///
    /// - Parameters:
    ///   - padding: The number of zeros behind the message, by which its length is less exact.
    ///   - publicKey: 65 bytes.
    ///   - secret: 16 bytes.
    package func encrypt(
        _ message: [UInt8], padding: Int = 0, publicKey: UnsafeRawBufferPointer, secret: UnsafeRawBufferPointer,
        ephemeral: Ephemeral? = nil
    ) -> [UInt8]? {
        let text = message.count + padding + 1
        let length = Self.headLength + text + Self.tagLength
        guard padding >= 0, text + Self.tagLength <= Self.recordSize, publicKey.count == Self.publicKeyLength,
            secret.count == Self.secretLength
        else { return nil }
        defer { forget() }
        var isDone = false
        let body = unsafe [UInt8](unsafeUninitializedCapacity: length) { body, count in
            guard let start = body.baseAddress else { return }
            unsafe writeHead(to: start, ephemeral)
            let ownKey = unsafe start + (Self.headLength - Self.publicKeyLength)
            let agreed = unsafe curve.agree(
                with: publicKey, privateKey: ephemeral?.privateKey, ownKey: ownKey, secret: secrets + Place.agreed)
            guard agreed else { return }
            unsafe deriveMaterial(publicKey: publicKey, ownKey: ownKey, secret: secret)
            unsafe deriveKeys(salt: UnsafeRawBufferPointer(start: start, count: Self.saltLength))
            unsafe seal(message, length: text, at: start + Self.headLength)
            (count, isDone) = (length, true)
        }
        return isDone ? body : nil
    }

    private func writeHead(to start: UnsafeMutablePointer<UInt8>, _ ephemeral: Ephemeral?) {
        if let ephemeral {
            for (index, byte) in ephemeral.salt.enumerated() { unsafe start[index] = byte }
        } else {
            if salts.isEmpty { salts = SecureRandom.bytes(64 * Self.saltLength)[...] }
            for (index, byte) in salts.prefix(Self.saltLength).enumerated() { unsafe start[index] = byte }
            salts = salts.dropFirst(Self.saltLength)
        }
        let size = UInt32(Self.recordSize)
        for index in 0..<4 {
            unsafe start[Self.saltLength + index] = UInt8(truncatingIfNeeded: size >> UInt32(24 - 8 * index))
        }
        unsafe start[Self.saltLength + 4] = UInt8(Self.publicKeyLength)
    }

    // MARK: Keys

    private static let messageInfo = Array("WebPush: info\0".utf8)
    private static let keyInfo = Array("Content-Encoding: aes128gcm\0\u{1}".utf8)
    private static let nonceInfo = Array("Content-Encoding: nonce\0\u{1}".utf8)

    /// Derives the input keying material from the agreed secret (RFC 8291, section 3.3).
    private func deriveMaterial(
        publicKey: UnsafeRawBufferPointer, ownKey: UnsafeMutablePointer<UInt8>, secret: UnsafeRawBufferPointer
    ) {
        unsafe mac.begin(key: secret)
        unsafe mac.update(UnsafeRawBufferPointer(start: secrets + Place.agreed, count: 32))
        unsafe mac.finish(into: secrets + Place.first)
        unsafe mac.begin(key: UnsafeRawBufferPointer(start: secrets + Place.first, count: 32))
        unsafe Self.messageInfo.withUnsafeBytes { unsafe mac.update($0) }
        unsafe mac.update(publicKey)
        unsafe mac.update(UnsafeRawBufferPointer(start: ownKey, count: Self.publicKeyLength))
        var counter: UInt8 = 1
        unsafe withUnsafeBytes(of: &counter) { unsafe mac.update($0) }
        unsafe mac.finish(into: secrets + Place.material)
    }

    /// Derives the content key and the nonce from the material and the salt (RFC 8188, sections 2.2 and 2.3).
    private func deriveKeys(salt: UnsafeRawBufferPointer, materialLength: Int = 32) {
        unsafe mac.begin(key: salt)
        unsafe mac.update(UnsafeRawBufferPointer(start: secrets + Place.material, count: materialLength))
        unsafe mac.finish(into: secrets + Place.second)
        for (index, info) in [Self.keyInfo, Self.nonceInfo].enumerated() {
            unsafe mac.begin(key: UnsafeRawBufferPointer(start: secrets + Place.second, count: 32))
            unsafe info.withUnsafeBytes { unsafe mac.update($0) }
            unsafe mac.finish(into: secrets + Place.keys + 32 * index)
        }
    }

    /// Returns the content key and the nonce for other material, for test vectors.
    ///
    /// - Parameter material: At most 32 bytes.
    package func contentKeys(of material: [UInt8], salt: [UInt8]) -> (key: [UInt8], nonce: [UInt8]) {
        precondition(material.count <= 32)
        defer { forget() }
        for (index, byte) in material.enumerated() { unsafe secrets[Place.material + index] = byte }
        unsafe salt.withUnsafeBytes { unsafe deriveKeys(salt: $0, materialLength: material.count) }
        let keys = unsafe UnsafeBufferPointer(start: secrets + Place.keys, count: 64)
        return unsafe (Array(keys[..<16]), Array(keys[32..<44]))
    }

    // MARK: The record

    /// Writes the record: the message, a delimiter and zeros, encrypted in place, and the tag.
    ///
    /// - Parameter length: The number of bytes before the tag.
    private func seal(_ message: [UInt8], length: Int, at start: UnsafeMutablePointer<UInt8>) {
        unsafe start.update(repeating: 0, count: length)
        unsafe message.withUnsafeBufferPointer { message in
            if let bytes = message.baseAddress { unsafe start.update(from: bytes, count: message.count) }
        }
        // The delimiter of the last record; there is only one.
        unsafe start[message.count] = 2
        let (key, nonce) = unsafe (secrets + Place.keys, secrets + Place.keys + 32)
        var written: CInt = 0
        var rest: CInt = 0
        let begun = unsafe EVP_EncryptInit_ex2(cipher, Self.gcm, key, nonce, nil)
        let encrypted = unsafe EVP_EncryptUpdate(cipher, start, &written, start, CInt(clamping: length))
        let finished = unsafe EVP_EncryptFinal_ex(cipher, start + length, &rest)
        let tagged = unsafe EVP_CIPHER_CTX_ctrl(
            cipher, EVP_CTRL_AEAD_GET_TAG, CInt(Self.tagLength), start + length)
        precondition(
            begun == 1 && encrypted == 1 && finished == 1 && tagged == 1 && written == CInt(clamping: length),
            "OpenSSL refuses AES-128-GCM")
    }

    /// Overwrites what is secret, also in the contexts.
    private func forget() {
        unsafe OPENSSL_cleanse(secrets, Place.end)
        mac.forget()
        unsafe EVP_EncryptInit_ex2(cipher, Self.gcm, secrets, secrets, nil)
    }

    // MARK: Authentication

    /// Writes HMAC-SHA256 of a text, 32 bytes.
    ///
    /// - Parameter key: At most 64 bytes.
    package func authenticate(
        _ parts: [UInt8], key: UnsafeRawBufferPointer, into digest: UnsafeMutablePointer<UInt8>
    ) {
        unsafe mac.begin(key: key)
        unsafe parts.withUnsafeBytes { unsafe mac.update($0) }
        unsafe mac.finish(into: digest)
        mac.forget()
    }
}
