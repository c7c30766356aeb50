import PushLoop

/// The limits for provider tokens.
package struct ProviderTokenPolicy: Equatable, Sendable {
    /// The maximum age in seconds. Older tokens are answered with `ExpiredProviderToken`. Apple documents an hour.
    package var maxAge: Int64 = 3600
    /// The minimum time in seconds between the issue times of two tokens on one connection. A new token below it is
    /// answered with `TooManyProviderTokenUpdates`. Apple documents 20 minutes; 0 disables the check.
    package var minRenewalInterval: Int64 = 1200
    /// The number of seconds that `iat` may be in the future. Apple does not document it.
    package var clockTolerance: Int64 = 60
    /// Whether a connection answers `ExpiredProviderToken` forever after an expired token, as Apple's connections have
    /// been observed to do.
    package var wedgesAfterExpired = false

    package init() {}
}

/// The check of the `authorization` header on one connection.
///
/// A token is parsed and verified once. After that the same text is recognized by comparison, and only its age is
/// checked again.
struct ProviderTokenCheck {
    private var accepted: [UInt8] = []
    private var issuedAt: Int64 = 0
    private var team = ""
    private var keyID = ""
    /// The last token that was rejected for a permanent reason, and the reason.
    private var refused: [UInt8] = []
    private var refusal = Reason.none

    /// The index of the accepted key in ``ProviderKeys``; nil before the first token, and if no keys are configured.
    private(set) var key: Int?
    private(set) var isWedged = false
    /// Whether the signature of the accepted token is encoded as DER.
    private(set) var isDER = false

    mutating func wedge() { isWedged = true }

    /// Returns why the request is not authorized, or `none`.
    @inline(__always)
    mutating func refusal(
        of authorization: ByteView?, keys: ProviderKeys, policy: ProviderTokenPolicy, environment: APNsEnvironment,
        now: WallTime
    ) -> Reason {
        guard let authorization, authorization.count > 7, Self.isBearer(authorization) else {
            return .missingProviderToken
        }
        if isWedged { return .expiredProviderToken }
        let token = authorization.dropFirst(7)
        if !accepted.isEmpty, token.equals(accepted) {
            return now.seconds - issuedAt > policy.maxAge ? expire(token, policy: policy) : .none
        }
        if !refused.isEmpty, token.equals(refused) { return refusal }
        return examine(token, keys: keys, policy: policy, environment: environment, now: now)
    }

    @inline(__always)
    private static func isBearer(_ text: ByteView) -> Bool {
        // Upper and lower case of a letter differ only in bit 5; the space has this bit set already.
        text.halfWord(at: 0) | 0x2020_2020 == 0x7261_6562 && text.halfWord(at: 3) | 0x2020_2020 == 0x2072_6572
    }

    private mutating func expire(_ token: ByteView, policy: ProviderTokenPolicy) -> Reason {
        if policy.wedgesAfterExpired { isWedged = true }
        return refuse(token, for: .expiredProviderToken)
    }

    private mutating func refuse(_ token: ByteView, for reason: Reason) -> Reason {
        if token.count <= JSONWebToken.maxLength {
            refused = token.copied()
            refusal = reason
        }
        return reason
    }

    private mutating func examine(
        _ text: ByteView, keys: ProviderKeys, policy: ProviderTokenPolicy, environment: APNsEnvironment,
        now: WallTime
    ) -> Reason {
        guard let token = JSONWebToken(text) else { return refuse(text, for: .invalidProviderToken) }
        var index: Int?
        if !keys.isOpen {
            guard let found = keys.index(of: token.keyID), keys.keys[found].teamID == token.issuer,
                keys.check?(token.keyID, token.signingInput, token.signature) ?? (keys.check == nil)
            else { return refuse(text, for: .invalidProviderToken) }
            if let home = keys.keys[found].environment, home != environment {
                return refuse(text, for: .badEnvironmentKeyIDInToken)
            }
            index = found
        }
        if token.issuedAt > now.seconds + policy.clockTolerance { return .invalidProviderToken }
        if token.issuedAt < now.seconds - policy.maxAge { return expire(text, policy: policy) }
        if !accepted.isEmpty {
            if token.issuer != team { return .invalidProviderToken }
            if token.keyID != keyID { return .unrelatedKeyIDInToken }
            if abs(token.issuedAt - issuedAt) < policy.minRenewalInterval { return .tooManyProviderTokenUpdates }
        }
        accepted = text.copied()
        issuedAt = token.issuedAt
        team = token.issuer
        keyID = token.keyID
        key = index
        isDER = token.isDER
        return .none
    }
}
