package import PushModel
package import PushTime

/// The facts of a request that decide whether it is allowed. The cryptographic checks are done: in constant time, and
/// for unknown keys with a secret that nobody knows.
package struct CheckedRequest: Sendable {
    package enum Evidence: Sendable {
        /// The header fields cannot be used.
        case unusable(AccessReason)
        case signature(Signature)
        /// - Parameters:
        ///   - isAuthentic: whether the secret is that of the key.
        ///   - isProtected: whether nobody can have read it on its way: TLS, or a loopback address.
        case bearer(isAuthentic: Bool, isProtected: Bool)
    }

    package struct Signature: Sendable {
        package let isAuthentic: Bool
        package let created: Int64
        package let expires: Int64?
        package let nonce: NonceHash?
        package let digest: Digest

        /// - Parameter nonce: the mark of the nonce; nil if the request names no key.
        package init(isAuthentic: Bool, created: Int64, expires: Int64?, nonce: NonceHash?, digest: Digest) {
            self.isAuthentic = isAuthentic
            self.created = created
            self.expires = expires
            self.nonce = nonce
            self.digest = digest
        }
    }

    /// The digest of the body, as the signature covers it.
    package enum Digest: Sendable {
        /// There is neither a body nor a digest.
        case none
        case matches
        case differs
        /// The body has no digest.
        case missing
        /// The signature covers a digest, but there is no body.
        case withoutBody
    }

    package let key: APIKeyID?
    package let address: IPAddress
    package let evidence: Evidence

    package init(key: APIKeyID?, address: IPAddress, evidence: Evidence) {
        self.key = key
        self.address = address
        self.evidence = evidence
    }
}

/// The two clocks: the wall clock for times that clients and operators give, and the monotonic clock for rates.
package struct AccessTime: Sendable {
    package let wall: WallTime
    package let monotonic: MonotonicTime

    package init(wall: WallTime, monotonic: MonotonicTime) {
        self.wall = wall
        self.monotonic = monotonic
    }
}
