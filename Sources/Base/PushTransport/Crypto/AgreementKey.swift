private import COpenSSL

/// A private key on P-256 that agrees on secrets with the owners of public keys (ECDH), as a browser has one for each of
/// its push subscriptions. It is immutable and thread-safe.
package final class AgreementKey: Sendable {
    package static let pointLength = 65

    private let key: KeyHandle
    /// The public key: an uncompressed point, 65 bytes.
    package let publicPoint: [UInt8]

    /// Generates a new key.
    package static func generate() throws(CryptoError) -> AgreementKey {
        let key = try KeyHandle.newP256()
        return AgreementKey(key, publicPoint: key.uncompressedPoint)
    }

    /// Creates a key from its parts. Returns nil unless these are 32 bytes and the 65 bytes of the point that belongs to
    /// them.
    package convenience init?(privateKey: [UInt8], publicPoint: [UInt8]) {
        guard privateKey.count == 32, publicPoint.count == Self.pointLength,
            let head = Hex.decode(
                "308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420"),
            let middle = Hex.decode("a144034200")
        else { return nil }
        var bytes = head + privateKey + middle + publicPoint
        defer { wipe(&bytes) }
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        let key = unsafe bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &position, bytes.count)
        }
        guard let key = unsafe key else { return nil }
        let handle = unsafe KeyHandle(owning: key)
        guard handle.isP256, handle.isConsistent else { return nil }
        self.init(handle, publicPoint: publicPoint)
    }

    private init(_ key: KeyHandle, publicPoint: [UInt8]) {
        self.key = key
        self.publicPoint = publicPoint
    }

    /// Returns the secret that this key shares with the owner of a public key: the x coordinate, 32 bytes. Returns nil if
    /// the given bytes are not an uncompressed point on the curve.
    package func agree(with point: [UInt8]) -> [UInt8]? {
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        guard let peer = KeyHandle(point: point) else { return nil }
        guard let context = unsafe EVP_PKEY_CTX_new(key.pointer, nil) else { fatalError("out of memory") }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var secret = [UInt8](repeating: 0, count: 32)
        var length = secret.count
        guard unsafe EVP_PKEY_derive_init(context) == 1, unsafe EVP_PKEY_derive_set_peer(context, peer.pointer) == 1,
            unsafe EVP_PKEY_derive(context, &secret, &length) == 1, length == secret.count
        else { return nil }
        return secret
    }
}

extension AgreementKey: CustomReflectable {
    /// A mirror without children, because a key must not be shown.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection(), displayStyle: .class) }
}
