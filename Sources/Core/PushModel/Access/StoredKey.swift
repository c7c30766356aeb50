/// An API key as it is stored. Neither field reveals the secret without the sealing key, which is in another file.
package struct StoredKey: Sendable, Equatable {
    package var key: APIKey
    /// The SHA-256 digest of the secret, for keys that allow bearer secrets; otherwise empty. The secret has 256 random
    /// bits, so that the digest needs neither salt nor stretching.
    package let bearerDigest: [UInt8]
    /// The secret, encrypted with the sealing key.
    package let sealedSecret: [UInt8]

    package init(_ key: APIKey, bearerDigest: [UInt8], sealedSecret: [UInt8]) {
        self.key = key
        self.bearerDigest = bearerDigest
        self.sealedSecret = sealedSecret
    }
}
