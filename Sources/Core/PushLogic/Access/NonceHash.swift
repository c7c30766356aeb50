package import PushModel

/// A keyed hash of a key id and a nonce, by which a nonce is recognized. Two different nonces have the same mark with a
/// probability of 2^-128, and nobody can choose such nonces.
package struct NonceHash: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    package init(of nonce: [UInt8], key id: APIKeyID, seed: (UInt64, UInt64)) {
        var hash = SipHash(key: seed, isWide: true)
        hash.add(id.word)
        hash.add(nonce)
        (high, low) = hash.hash128()
    }
}
