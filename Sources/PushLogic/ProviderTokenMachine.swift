package import PushTime

/// When to mint the next provider token of one key (PROTOCOLS A9).
///
/// Apple refuses tokens older than an hour, and throttles who renews them more often than every 20 minutes; the second
/// is the worse, for it has been seen to last an hour and a half. Hence two rules that nothing overrides, both on the
/// monotonic clock: never two mints within `shortestInterval`, never a token kept past `longestAge`.
///
/// What makes a token stale before its time: the provider says that it is expired or invalid, or the wall clock was
/// stepped, so that `iat` no longer says when it was made. A stale token is renewed as soon as the floor allows, not
/// before. A clock that flaps would otherwise mint at each flap, and look like a token storm; a token that is wrong for
/// the rest of its 20 minutes costs a delay, since what it is refused with is sent again.
///
/// - A step back makes `iat` lie in the future, which Apple refuses: a few seconds are let pass for clocks that are
///   slewed.
/// - A step forward (or a machine that slept, where the monotonic clock stands still) ages the token at the provider
///   without our noticing. Steps below `forwardTolerance` are harmless: renewed at 50 minutes, the token is still under
///   an hour by anyone's clock.
///
/// Told that tokens are minted too often (other processes use the key too), it keeps what it has for another
/// `shortestInterval`, but not past `longestAge`: a token that is surely refused helps nobody.
package struct ProviderTokenMachine: Sendable {
    package struct Settings: Sendable, Equatable {
        /// The age at which a token is replaced.
        package var renewal: Duration = .seconds(50 * 60)
        package var shortestInterval: Duration = .seconds(20 * 60)
        package var longestAge: Duration = .seconds(60 * 60)
        package var backwardTolerance: Duration = .seconds(5)
        package var forwardTolerance: Duration = .seconds(5 * 60)
        /// How often the wall clock is looked at.
        package var look: Duration = .seconds(60)
        /// How long to wait when minting failed on our side.
        package var retry: Duration = .seconds(60)

        package init() {}
    }

    package enum Input: Sendable, Equatable {
        /// Someone needs the token, or `nextLook` has come.
        case looked
        /// What the last `mint` asked for was done.
        case minted(generation: UInt64)
        /// It could not be done.
        case mintFailed
        /// The provider called the token of this generation expired or invalid.
        case refused(generation: UInt64)
        /// The provider said TooManyProviderTokenUpdates.
        case mintedTooOften
    }

    package enum Action: Sendable, Equatable {
        /// Mint one with this `iat`, then say `minted` or `mintFailed`.
        case mint(issuedAt: WallTime)
        /// What there is stays.
        case keep
    }

    private struct Token {
        var generation: UInt64
        var mintedAt: MonotonicTime
        var issuedAt: WallTime
        var isStale = false
    }

    private let settings: Settings
    private var token: Token?
    private var heldUntil: MonotonicTime?
    /// When to look again, after the last input. Inputs may come earlier at any time.
    package private(set) var nextLook = MonotonicTime(nanoseconds: .min)

    /// - Precondition: `shortestInterval` ≤ `renewal` ≤ `longestAge`.
    package init(_ settings: Settings = Settings()) {
        precondition(
            settings.shortestInterval <= settings.renewal && settings.renewal <= settings.longestAge,
            "a provider token is renewed between the shortest interval and the longest age")
        self.settings = settings
    }

    /// The token that is in use, if one was ever minted.
    package var generation: UInt64? { token?.generation }

    package mutating func input(_ input: Input, now: MonotonicTime, wall: WallTime) -> Action {
        switch input {
        case .looked:
            break
        case .minted(let generation):
            token = Token(generation: generation, mintedAt: now, issuedAt: wall)
            heldUntil = nil
            nextLook = now + settings.look
            return .keep
        case .mintFailed:
            // Nobody saw a token, so the floor is where it was. A hold that is further away stays.
            let retry = now + settings.retry
            heldUntil = max(heldUntil ?? retry, retry)
            nextLook = now + settings.retry
            return .keep
        case .refused(let generation):
            // An answer about an older one says nothing about this.
            if token?.generation == generation { token?.isStale = true }
        case .mintedTooOften:
            if let token {
                let hold = min(now + settings.shortestInterval, token.mintedAt + settings.longestAge)
                heldUntil = max(heldUntil ?? hold, hold)
            }
        }
        noticeSteps(now: now, wall: wall)
        let due = due()
        guard due <= now else {
            nextLook = min(due, now + settings.look)
            return .keep
        }
        nextLook = now + settings.look
        return .mint(issuedAt: wall)
    }

    private mutating func noticeSteps(now: MonotonicTime, wall: WallTime) {
        guard let token else { return }
        let byWall = Duration.milliseconds(wall.milliseconds &- token.issuedAt.milliseconds)
        let drift = byWall - (now - token.mintedAt)
        if drift < .zero - settings.backwardTolerance || drift > settings.forwardTolerance {
            self.token?.isStale = true
        }
    }

    /// When the next mint may and should be.
    private func due() -> MonotonicTime {
        let held = heldUntil ?? MonotonicTime(nanoseconds: .min)
        guard let token else { return held }
        let wanted = token.mintedAt + (token.isStale ? settings.shortestInterval : settings.renewal)
        return max(wanted, held)
    }
}
