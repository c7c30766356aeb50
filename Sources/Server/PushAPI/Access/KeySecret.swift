import PushTransport

/// The secret of a key in the forms that checks need: the prepared key schedule of HMAC, and the digest of the bearer
/// secret. The secret itself is not kept. Confined to the loop of its ``RequestGuard``.
final class KeySecret {
    static let length = 32

    private var mac: HMACSHA256
    private let bearerDigest: Digest256
    /// Whether signatures can be checked. If not, no signature is right.
    let canSign: Bool
    private let canBear: Bool

    /// - Parameters:
    ///   - secret: the 32 bytes; nil if they cannot be decrypted.
    ///   - bearerDigest: the digest of the secret; nil if the key does not allow bearer secrets.
    init(_ secret: [UInt8]?, bearerDigest: Digest256?) {
        var key = secret ?? SecureRandom.bytes(Self.length)
        mac = HMACSHA256(key: key)
        wipe(&key)
        canSign = secret?.count == Self.length
        canBear = bearerDigest != nil
        self.bearerDigest = bearerDigest ?? SHA256.hash(SecureRandom.bytes(Self.length))
    }

    /// Returns a secret that nobody knows, for requests with unknown keys. Their checks cost as much as those of other
    /// keys.
    static func unknown() -> KeySecret { KeySecret(nil, bearerDigest: nil) }

    /// Returns whether the signature of `base` is right. Constant time.
    func matches(_ signature: [UInt8], of base: [UInt8]) -> Bool {
        let right = mac.authenticate(base)
        guard let given = Digest256(signature) else { return false }
        return right.equalsInConstantTime(given) && canSign
    }

    /// Returns whether the bearer secret is right. Constant time for secrets of the right length.
    func matches(bearer text: String, hasher: inout SHA256Hasher) -> Bool {
        var given = Base64URL.decode(text) ?? []
        defer { wipe(&given) }
        hasher.update(given)
        let isRight = hasher.finish().equalsInConstantTime(bearerDigest)
        return isRight && canBear && given.count == Self.length
    }
}
