package import PushLoop
package import PushTime
import PushTransport
import PushWire

/// Signs the tokens that identify an app to push services, and keeps one for each origin. Thread-safe.
///
/// A token names the origin, so that no push service can use it at another. Apple refuses tokens that change more than
/// once an hour. Others are refused if their end is more than a day ahead of the clock of the service.
package final class VAPIDTokens: Sendable {
    /// A signed token. It is never changed: an origin never gets that of another.
    package struct Token: Sendable {
        /// The value of `authorization`.
        package let authorization: Secret<String>
        fileprivate let signedAt: WallTime

        /// Whether the token serves at this time. A clock that went back makes its end too far ahead.
        package func isFresh(at now: WallTime) -> Bool {
            let age = now.milliseconds(since: signedAt)
            return age >= -VAPIDTokens.maxStep && age < VAPIDTokens.useLength
        }
    }

    /// The life of a token, and how long it is used, in milliseconds.
    static let life: Int64 = 12 * 3_600_000
    static let useLength: Int64 = life / 2
    /// How far a clock may go back without a new token.
    static let maxStep: Int64 = 60_000
    /// The number of tokens that are kept. Few origins have nearly all subscriptions.
    static let maxCount = 256

    private let key: VAPIDKey
    var keyID: VAPIDKeyID { key.id }
    private let subject: String
    private let wallClock: @Sendable () -> WallTime
    private let tokens = Locked<[Origin: Token]>([:])

    /// - Parameter subject: The contact, a `mailto:` or `https:` URL.
    package init(key: VAPIDKey, subject: String, wallClock: @escaping @Sendable () -> WallTime) {
        self.key = key
        self.subject = subject
        self.wallClock = wallClock
    }

    /// Returns the token for an origin, signed now if there is none that serves.
    package func token(for origin: Origin) throws -> Token {
        let now = wallClock()
        if let token = tokens.withLock({ $0[origin] }), token.isFresh(at: now) { return token }
        let token = try sign(for: origin, at: now)
        return tokens.withLock { tokens in
            // Another thread may have signed meanwhile; all connections to an origin have the same token.
            if let other = tokens[origin], other.isFresh(at: now) { return other }
            if tokens.count >= Self.maxCount { Self.trim(&tokens) }
            tokens[origin] = token
            return token
        }
    }

    /// Removes the older half. To sign again costs little.
    private static func trim(_ tokens: inout [Origin: Token]) {
        let times = tokens.values.map(\.signedAt).sorted()
        let middle = times[times.count / 2]
        tokens = tokens.filter { $0.value.signedAt > middle }
    }

    private func sign(for origin: Origin, at now: WallTime) throws -> Token {
        var claims = JSONWriter()
        claims.object { claims in
            claims.member("aud", value: origin.description)
            claims.member("exp", value: now.adding(milliseconds: Self.life).seconds)
            claims.member("sub", value: subject)
        }
        let input = Self.header + "." + Base64URL.encode(claims.bytes)
        let signature = try key.key.sign(Array(input.utf8))
        let token = "\(input).\(Base64URL.encode(signature))"
        return Token(authorization: Secret("vapid t=\(token), k=\(key.publicKey)"), signedAt: now)
    }

    private static let header = Base64URL.encode(#"{"typ":"JWT","alg":"ES256"}"#)
}
