import PushLoop

/// How strict Apple is about provider tokens.
package struct ProviderTokenPolicy: Equatable, Sendable {
    /// Older tokens are `ExpiredProviderToken`. Seconds; Apple documents an hour.
    package var longestAge: Int64 = 3600
    /// Two tokens of one connection that were issued less than this apart are `TooManyProviderTokenUpdates`. Seconds;
    /// Apple documents 20 minutes. 0 switches it off.
    package var shortestRenewal: Int64 = 1200
    /// How far ahead `iat` may be. Seconds. Apple does not say.
    package var clockTolerance: Int64 = 60
    /// After an expired token the connection answers `ExpiredProviderToken` for ever, as Apple's have been seen to.
    package var wedgesAfterExpired = false

    package init() {}
}

/// Checks the `authorization` of the requests of one connection.
///
/// A token is taken apart and verified once; after that the same text is recognised by comparing it, and only its age is
/// looked at again.
struct ProviderTokenCheck {
    private var accepted: [UInt8] = []
    private var issuedAt: Int64 = 0
    private var team = ""
    private var keyID = ""
    /// The last text that was refused for a reason that time does not cure, and the reason.
    private var refused: [UInt8] = []
    private var refusal = Reason.none

    /// The accepted key's place in `ProviderKeys`; nil before the first token, and when no keys are known.
    private(set) var key: Int?
    private(set) var isWedged = false
    /// The accepted token's signature came as DER.
    private(set) var isDER = false

    var hasAccepted: Bool { !accepted.isEmpty }

    mutating func wedge() { isWedged = true }

    /// Why the request may not pass, or `none`.
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
            return now.seconds - issuedAt > policy.longestAge ? expire(token, policy) : .none
        }
        if !refused.isEmpty, token.equals(refused) { return refusal }
        return examine(token, keys, policy, environment, now)
    }

    @inline(__always)
    private static func isBearer(_ text: ByteView) -> Bool {
        // Letters only differ by bit 5 in case; the space has it set already.
        text.halfWord(at: 0) | 0x2020_2020 == 0x7261_6562 && text.halfWord(at: 3) | 0x2020_2020 == 0x2072_6572
    }

    private mutating func expire(_ token: ByteView, _ policy: ProviderTokenPolicy) -> Reason {
        if policy.wedgesAfterExpired { isWedged = true }
        return refuse(token, .expiredProviderToken)
    }

    private mutating func refuse(_ token: ByteView, _ reason: Reason) -> Reason {
        if token.count <= JSONWebToken.longest {
            refused = token.copied()
            refusal = reason
        }
        return reason
    }

    private mutating func examine(
        _ text: ByteView, _ keys: ProviderKeys, _ policy: ProviderTokenPolicy, _ environment: APNsEnvironment,
        _ now: WallTime
    ) -> Reason {
        guard let token = JSONWebToken(text) else { return refuse(text, .invalidProviderToken) }
        var place: Int?
        if !keys.isOpen {
            guard let found = keys.index(of: token.keyID), keys.keys[found].teamID == token.issuer,
                keys.check?(token.keyID, token.signingInput, token.signature) ?? (keys.check == nil)
            else { return refuse(text, .invalidProviderToken) }
            if let home = keys.keys[found].environment, home != environment {
                return refuse(text, .badEnvironmentKeyIDInToken)
            }
            place = found
        }
        if token.issuedAt > now.seconds + policy.clockTolerance { return .invalidProviderToken }
        if token.issuedAt < now.seconds - policy.longestAge { return expire(text, policy) }
        if !accepted.isEmpty {
            if token.issuer != team { return .invalidProviderToken }
            if token.keyID != keyID { return .unrelatedKeyIDInToken }
            if abs(token.issuedAt - issuedAt) < policy.shortestRenewal { return .tooManyProviderTokenUpdates }
        }
        accepted = text.copied()
        issuedAt = token.issuedAt
        team = token.issuer
        keyID = token.keyID
        key = place
        isDER = token.isDER
        return .none
    }
}
