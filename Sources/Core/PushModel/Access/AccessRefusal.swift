package import PushTime

/// The reason why a request is refused. It is for logs and metrics; only some reasons are told to the client.
package enum AccessReason: String, Sendable, CaseIterable {
    case noCredentials = "no_credentials"
    /// The request has both a signature and a bearer secret.
    case twoCredentials = "two_credentials"
    case malformed
    case unknownKey = "unknown_key"
    case revokedKey = "revoked_key"
    case expiredKey = "expired_key"
    /// The secret of the key cannot be read, because its file is missing or was replaced.
    case unreadableKey = "unreadable_key"
    case wrongSignature = "wrong_signature"
    case wrongSecret = "wrong_secret"
    case bearerNotAllowed = "bearer_not_allowed"
    case bearerWithoutTLS = "bearer_without_tls"
    case digestMissing = "digest_missing"
    case digestWithoutBody = "digest_without_body"
    case wrongDigest = "wrong_digest"
    case signatureExpired = "signature_expired"
    case clockSkew = "clock_skew"
    case replayed
    case addressNotAllowed = "address_not_allowed"
    case roleMissing = "role_missing"
    case appNotAllowed = "app_not_allowed"
    /// Another rule of the endpoint forbids it.
    case notAllowed = "not_allowed"
    /// The request names a host that the server does not serve.
    case unknownHost = "unknown_host"
    /// The request comes from a page of another site.
    case crossOrigin = "cross_origin"
    case tooManyFailures = "too_many_failures"
    case tooManyRequests = "too_many_requests"
}

/// The answer to a request that is not allowed, and its reason for the log.
package struct AccessRefusal: Error, Sendable, Equatable {
    package enum Code: String, Sendable {
        case unauthenticated
        /// The answer contains the server's time.
        case clockSkew = "clock_skew"
        case replayed
        case forbidden
        /// The answer contains the time after which the client may try again.
        case tooManyRequests = "too_many_requests"
    }

    package let code: Code
    package let reason: AccessReason
    /// The key that the request names, if it exists.
    package let key: APIKey?
    /// The whole seconds of `Retry-After`; at least 1. Only for `tooManyRequests`.
    package let retryAfter: Int?
    /// The server's clock. Only for `clockSkew`.
    package let serverTime: UnixSeconds?

    private init(
        _ code: Code, _ reason: AccessReason, key: APIKey?, retryAfter: Int? = nil, serverTime: UnixSeconds? = nil
    ) {
        self.code = code
        self.reason = reason
        self.key = key
        self.retryAfter = retryAfter
        self.serverTime = serverTime
    }

    package var status: Int {
        switch code {
        case .unauthenticated, .clockSkew, .replayed: 401
        case .forbidden: 403
        case .tooManyRequests: 429
        }
    }

    package static func unauthenticated(_ reason: AccessReason, key: APIKey? = nil) -> AccessRefusal {
        AccessRefusal(.unauthenticated, reason, key: key)
    }

    package static func clockSkew(key: APIKey, serverTime: UnixSeconds) -> AccessRefusal {
        AccessRefusal(.clockSkew, .clockSkew, key: key, serverTime: serverTime)
    }

    package static func replayed(key: APIKey) -> AccessRefusal {
        AccessRefusal(.replayed, .replayed, key: key)
    }

    package static func forbidden(_ reason: AccessReason, key: APIKey?) -> AccessRefusal {
        AccessRefusal(.forbidden, reason, key: key)
    }

    package static func tooMany(_ reason: AccessReason, key: APIKey?, after wait: Duration) -> AccessRefusal {
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        return AccessRefusal(.tooManyRequests, reason, key: key, retryAfter: Int(min(max(1, seconds), 3600)))
    }
}
