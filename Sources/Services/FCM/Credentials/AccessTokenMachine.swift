import PushTime

/// Decides when to ask for an access token of one service account.
///
/// One request is under way at a time, however many deliveries wait. A token is replaced some minutes before it ends, and
/// is kept while that fails, until it has ended. A refused token is replaced at once, but not again and again.
struct AccessTokenMachine {
    struct Settings: Sendable {
        /// How long before its end a token is replaced.
        var early: Duration = .seconds(300)
        /// A token that is said to live for less is used this long.
        var minLife: Duration = .seconds(10)
        /// The shortest time between two tokens that are asked for because the former one was refused.
        var minInterval: Duration = .seconds(60)
        /// The first and the longest pause after a failed request.
        var firstPause: Duration = .seconds(1)
        var maxPause: Duration = .seconds(60)
    }

    enum Input: Equatable {
        /// A token is needed, or `nextLook` has come.
        case looked
        case minted(generation: UInt64, lifetime: Duration)
        case mintFailed
        /// The provider refused the token of this generation.
        case refused(generation: UInt64)
    }

    enum Action: Equatable {
        /// Ask for a token, then input `minted` or `mintFailed`.
        case mint
        /// Keep what there is.
        case keep
        /// The token has ended, and there is no other.
        case end
    }

    private struct Token {
        let generation: UInt64
        let replaceAt: MonotonicTime
        let endsAt: MonotonicTime
        var isRefused = false
    }

    private let settings: Settings
    private var token: Token?
    private var isMinting = false
    private var failures = 0
    /// The time before which no token is asked for, after a failure.
    private var notBefore = MonotonicTime.distantPast
    /// When a token was last asked for because of a refusal.
    private var forcedAt: MonotonicTime?

    init(_ settings: Settings = Settings()) {
        self.settings = settings
    }

    /// The generation of the current token; nil if there is none.
    var generation: UInt64? { token?.generation }

    /// The time of the next look. Inputs may come earlier at any time.
    var nextLook: MonotonicTime {
        let end = token?.endsAt ?? .distantFuture
        return isMinting ? end : min(due, end)
    }

    /// The time at which the next token is asked for.
    private var due: MonotonicTime {
        guard let token else { return notBefore }
        guard token.isRefused else { return max(token.replaceAt, notBefore) }
        return max(forcedAt.map { $0 + settings.minInterval } ?? .distantPast, notBefore)
    }

    mutating func input(_ input: Input, now: MonotonicTime) -> Action {
        switch input {
        case .looked: break
        case .minted(let generation, let lifetime):
            isMinting = false
            failures = 0
            notBefore = .distantPast
            // A token with a short life is replaced in the middle of it.
            let lifetime = max(lifetime, settings.minLife)
            let age = max(lifetime - settings.early, lifetime / 2)
            token = Token(generation: generation, replaceAt: now + age, endsAt: now + lifetime)
            return .keep
        case .mintFailed:
            isMinting = false
            notBefore = now + pause
            failures += 1
        case .refused(let generation):
            // The refusal of an older token does not concern the current one.
            if token?.generation == generation { token?.isRefused = true }
        }
        if let token, now >= token.endsAt {
            self.token = nil
            if isMinting || due > now { return .end }
        }
        guard !isMinting, due <= now else { return .keep }
        isMinting = true
        if token?.isRefused == true { forcedAt = now }
        return .mint
    }

    private var pause: Duration {
        min(settings.maxPause, settings.firstPause * (1 << min(failures, 10)))
    }
}
