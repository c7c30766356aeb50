package import PushTime

/// Decides when to mint the next provider token of one key (`Documentation/Protocols.md`, "Provider tokens").
///
/// Apple refuses tokens older than an hour, and throttles clients that renew them more often than every 20 minutes. The
/// throttling is worse: it has been seen to last an hour and a half. Hence two rules, both on the monotonic clock, have
/// no exception: `minInterval` passes between two mints, and no token is kept past `maxAge`.
///
/// A token becomes stale early if the provider reports it as expired or invalid, or if the wall clock was set, so that
/// `iat` no longer shows when the token was made. A stale token is renewed when `minInterval` has passed, not
/// before. Otherwise an unstable clock would cause a mint at each change and look like a token storm. A wrong token
/// costs only a delay of up to 20 minutes, since refused deliveries are sent again.
///
/// - After a step back `iat` lies in the future, which Apple refuses. A few seconds are tolerated for clocks that are
///   slewed.
/// - A step forward (or a machine that slept, while the monotonic clock stood still) ages the token at the provider
///   unnoticed. Steps below `forwardTolerance` are harmless: renewed at 50 minutes, the token is less than an hour old
///   by any clock.
///
/// If the provider reports that tokens are minted too often, because other processes use the key too, the machine keeps
/// its token for another `minInterval`, but not past `maxAge`, when the token would be refused anyway.
package struct ProviderTokenMachine: Sendable {
    package struct Settings: Sendable, Equatable {
        /// The age at which a token is replaced.
        package var renewal: Duration = .seconds(50 * 60)
        package var minInterval: Duration = .seconds(20 * 60)
        package var maxAge: Duration = .seconds(60 * 60)
        package var backwardTolerance: Duration = .seconds(5)
        package var forwardTolerance: Duration = .seconds(5 * 60)
        /// The interval at which the wall clock is checked.
        package var look: Duration = .seconds(60)
        /// The delay after a mint failed locally.
        package var retry: Duration = .seconds(60)

        package init() {}
    }

    package enum Input: Sendable, Equatable {
        /// The token is needed, or `nextLook` has come.
        case looked
        /// The last `mint` succeeded.
        case minted(generation: UInt64)
        /// The last `mint` failed.
        case mintFailed
        /// The provider reported the token of this generation as expired or invalid.
        case refused(generation: UInt64)
        /// The provider answered TooManyProviderTokenUpdates.
        case mintedTooOften
    }

    package enum Action: Sendable, Equatable {
        /// Mint a token with this `iat`, then input `minted` or `mintFailed`.
        case mint(issuedAt: WallTime)
        /// Keep the current token, if there is one.
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
    /// The time of the next look after the last input. Inputs may come earlier at any time.
    package private(set) var nextLook = MonotonicTime(nanoseconds: .min)

    /// - Precondition: `minInterval` ≤ `renewal` ≤ `maxAge`.
    package init(_ settings: Settings = Settings()) {
        precondition(
            settings.minInterval <= settings.renewal && settings.renewal <= settings.maxAge,
            "the renewal age of a provider token must lie between the shortest interval and the longest age")
        self.settings = settings
    }

    /// The generation of the current token, if one was ever minted.
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
            // The provider saw no new token, so the earliest time of a mint does not change. A longer hold remains.
            let retry = now + settings.retry
            heldUntil = max(heldUntil ?? retry, retry)
            nextLook = now + settings.retry
            return .keep
        case .refused(let generation):
            // A refusal of an older token does not concern the current one.
            if token?.generation == generation { token?.isStale = true }
        case .mintedTooOften:
            if let token {
                let hold = min(now + settings.minInterval, token.mintedAt + settings.maxAge)
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

    /// Returns the time of the next mint.
    private func due() -> MonotonicTime {
        let held = heldUntil ?? MonotonicTime(nanoseconds: .min)
        guard let token else { return held }
        let wanted = token.mintedAt + (token.isStale ? settings.minInterval : settings.renewal)
        return max(wanted, held)
    }
}
