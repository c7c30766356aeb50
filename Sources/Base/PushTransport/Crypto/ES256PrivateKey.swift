private import COpenSSL
import PushLoop

/// A private key that signs JSON Web Tokens with `ES256`: ECDSA on P-256 with SHA-256. It is thread-safe; operations
/// run one at a time.
package final class ES256PrivateKey: Sendable {
    private let key: KeyHandle
    private let operation: Locked<SignatureContext>
    package let publicKey: ES256PublicKey

    /// Reads a `.p8` file, or any other PEM with a P-256 key.
    package convenience init(pem source: PEMSource, password: String? = nil) throws(CryptoError) {
        let key = try source.privateKey(password: password)
        guard key.isP256 else {
            throw CryptoError(
                .wrongKeyKind, message: "\(source.name): ES256 needs a key on the curve P-256, this one is \(key.kind)")
        }
        try self.init(key)
    }

    /// Generates a new key.
    package static func generate() throws(CryptoError) -> ES256PrivateKey {
        try ES256PrivateKey(KeyHandle.newP256())
    }

    private init(_ key: KeyHandle) throws(CryptoError) {
        self.key = key
        operation = Locked(try SignatureContext(key, for: "ES256", isForSigning: true))
        publicKey = try ES256PublicKey(key)
    }

    /// The key as unencrypted PKCS#8 PEM, which `init(pem:password:)` reads.
    package var pem: String { key.privatePEMText }

    /// Signs a message. Returns the two numbers of the signature, 32 bytes each, as JWS requires (RFC 7518, section
    /// 3.4).
    package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let digest = SHA256.hash(message)
        guard let signature = operation.withLock({ $0.sign(digest) }).flatMap(ES256Signature.raw) else {
            throw CryptoError(.failed, message: "signing failed: \(OpenSSLErrors.drain().text)")
        }
        return signature
    }
}

/// A public key that verifies the signatures of an ``ES256PrivateKey``. It is thread-safe; operations run one at a
/// time.
package final class ES256PublicKey: Sendable {
    private let key: KeyHandle
    private let operation: Locked<SignatureContext>

    /// Reads a public key from PEM: a public key, a certificate or a private key.
    package convenience init(pem source: PEMSource) throws(CryptoError) {
        let blocks = try source.blocks()
        let key: KeyHandle
        if let block = blocks.first(where: { $0.label == "PUBLIC KEY" }) {
            key = try KeyHandle(publicKey: block, name: source.name)
        } else if let block = blocks.first(where: \.isCertificate) {
            key = try KeyHandle(of: X509Certificate(block, name: source.name), name: source.name)
        } else if let block = blocks.first(where: \.isPrivateKey) {
            key = try KeyHandle(block, password: nil, name: source.name)
        } else {
            throw CryptoError(
                .malformedPEM, message: "\(source.name) contains no public key, only \(PEMSource.listing(blocks))")
        }
        try self.init(checking: key, name: source.name)
    }

    package convenience init(of certificate: CertificateInfo) throws(CryptoError) {
        let name = "certificate \(certificate.subject)"
        try self.init(checking: KeyHandle(of: certificate.certificate, name: name), name: name)
    }

    /// Creates a key from the 65 bytes of an uncompressed point, as in the `k` parameter of VAPID.
    package convenience init(point: [UInt8]) throws(CryptoError) {
        guard point.count == 65, point[0] == 4 else {
            throw CryptoError(.wrongKeyKind, message: "an uncompressed P-256 point has 65 bytes and begins with 4")
        }
        OpenSSLErrors.clear()
        guard let key = KeyHandle(point: point) else {
            throw CryptoError(.wrongKeyKind, message: "not a point on P-256: \(OpenSSLErrors.drain().text)")
        }
        try self.init(checking: key, name: "the given point")
    }

    private convenience init(checking key: KeyHandle, name: String) throws(CryptoError) {
        guard key.isP256 else {
            throw CryptoError(
                .wrongKeyKind, message: "\(name): ES256 needs a key on the curve P-256, this one is \(key.kind)")
        }
        try self.init(key)
    }

    fileprivate init(_ key: KeyHandle) throws(CryptoError) {
        self.key = key
        operation = Locked(try SignatureContext(key, for: "ES256", isForSigning: false))
    }

    /// The key as PEM of its SubjectPublicKeyInfo.
    package var pem: String { String(decoding: key.publicPEM, as: UTF8.self) }

    /// The 65 bytes of the uncompressed point, as in the `k` parameter of VAPID.
    package var point: [UInt8] { key.uncompressedPoint }

    /// The SHA-256 digest of the key's SubjectPublicKeyInfo in DER. It identifies the key in texts without showing it.
    package var fingerprint: Digest256 { SHA256.hash(key.publicDER) }

    /// Returns whether `signature` is a signature of the message by this key. A signature of any other length is
    /// invalid.
    package func verify(_ message: [UInt8], signature: [UInt8]) -> Bool {
        guard signature.count == 64, let signature = ES256Signature.encoded(signature) else { return false }
        let digest = SHA256.hash(message)
        return operation.withLock { $0.verify(digest, signature: signature) }
    }
}

extension ES256PrivateKey: CustomReflectable {
    /// A mirror without children, because a key must not be shown and OpenSSL's state cannot be reflected.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .class) }
}

extension ES256PublicKey: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .class) }
}

/// The two numbers of a signature: in DER, as OpenSSL has them, and as JWS has them, 32 bytes each.
private enum ES256Signature {
    static func raw(_ encoded: [UInt8]) -> [UInt8]? {
        unsafe encoded.withUnsafeBufferPointer { encoded in
            var position = encoded.baseAddress
            guard let signature = unsafe d2i_ECDSA_SIG(nil, &position, encoded.count) else { return nil }
            defer { unsafe ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 64)
            return unsafe raw.withUnsafeMutableBufferPointer { raw in
                let r = unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, 32)
                let s = unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw.baseAddress! + 32, 32)
                return unsafe r == 32 && s == 32 ? Array(raw) : nil
            }
        }
    }

    /// - Parameter raw: 64 bytes.
    static func encoded(_ raw: [UInt8]) -> [UInt8]? {
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        guard let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        let isSet = unsafe raw.withUnsafeBufferPointer { raw in
            let r = unsafe BN_bin2bn(raw.baseAddress, 32, nil)
            let s = unsafe BN_bin2bn(raw.baseAddress! + 32, 32, nil)
            // Takes ownership of both numbers if it succeeds.
            if unsafe ECDSA_SIG_set0(signature, r, s) == 1 { return true }
            unsafe BN_free(r)
            unsafe BN_free(s)
            return false
        }
        guard isSet else { return nil }
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_ECDSA_SIG(signature, &encoded)
        guard length > 0, let encoded = unsafe encoded else { return nil }
        defer { unsafe CRYPTO_free(encoded, "", 0) }
        return unsafe Array(UnsafeBufferPointer(start: encoded, count: Int(length)))
    }
}

extension KeyHandle {
    /// The point of a key on P-256, whatever form the file of the key has it in.
    var uncompressedPoint: [UInt8] {
        var point = [UInt8](repeating: 0, count: 65)
        point[0] = 4
        unsafe point.withUnsafeMutableBufferPointer { point in
            for (index, name) in [OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y].enumerated() {
                var number: OpaquePointer?
                guard unsafe EVP_PKEY_get_bn_param(pointer, name, &number) == 1,
                    unsafe BN_bn2binpad(number, point.baseAddress! + 1 + 32 * index, 32) == 32
                else { fatalError("OpenSSL does not give the coordinates of a key") }
                unsafe BN_free(number)
            }
        }
        return point
    }

    /// Reads an uncompressed point on P-256; nil if the bytes are none.
    convenience init?(point: [UInt8]) {
        // The DER prefix of a P-256 SubjectPublicKeyInfo, up to the point.
        guard point.count == 65, point[0] == 4,
            let head = Hex.decode("3059301306072a8648ce3d020106082a8648ce3d030107034200")
        else { return nil }
        let bytes = head + point
        let key = unsafe bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_PUBKEY(nil, &position, bytes.count)
        }
        guard let key = unsafe key else { return nil }
        unsafe self.init(owning: key)
    }

    fileprivate convenience init(publicKey block: PEMBlock, name: String) throws(CryptoError) {
        let bio = MemoryBIO(block.text)
        OpenSSLErrors.clear()
        guard let key = unsafe PEM_read_bio_PUBKEY(bio.pointer, nil, { _, _, _, _ in -1 }, nil) else {
            throw CryptoError(
                .malformedPEM, message: "\(name): the public key cannot be read: \(OpenSSLErrors.drain().text)")
        }
        unsafe self.init(owning: key)
    }

    fileprivate convenience init(of certificate: X509Certificate, name: String) throws(CryptoError) {
        OpenSSLErrors.clear()
        guard let key = unsafe X509_get_pubkey(certificate.pointer) else {
            throw CryptoError(
                .malformedCertificate, message: "\(name): its public key cannot be read: \(OpenSSLErrors.drain().text)")
        }
        unsafe self.init(owning: key)
    }
}
