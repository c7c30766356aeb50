/// The conditions under which a request is sent again.
///
/// A request is sent again after a lost connection or a timeout of an attempt, and after an answer with one of
/// ``statuses``, if its method is idempotent or ``retriesUnsafe`` is set. A request with a body that provably was not
/// sent, because no connection was made, may be sent again with every method.
public struct RetryRule: Sendable, Hashable {
    /// The number of attempts in all, at least 1.
    public var maxAttempts: Int
    /// Whether requests are repeated whose method is not idempotent, such as POST. Set it only for requests that the
    /// server recognizes when they arrive twice.
    public var retriesUnsafe: Bool
    /// The statuses after which a request is sent again.
    public var statuses: Set<Int>
    /// The pause before the second attempt. Each further pause is twice as long; a random part of up to a half is
    /// subtracted, so that clients that failed together do not return together.
    public var firstPause: Duration
    /// The longest pause that doubling leads to.
    public var maxPause: Duration
    /// The longest `Retry-After` that is honored. If a server asks for more, its answer is the result.
    public var maxRetryAfter: Duration

    /// Creates a rule; the defaults are those of ``standard``.
    public init(
        maxAttempts: Int = 4, retriesUnsafe: Bool = false, statuses: Set<Int> = [429, 502, 503, 504],
        firstPause: Duration = .milliseconds(250), maxPause: Duration = .seconds(30),
        maxRetryAfter: Duration = .seconds(300)
    ) {
        self.maxAttempts = maxAttempts
        self.retriesUnsafe = retriesUnsafe
        self.statuses = statuses
        self.firstPause = firstPause
        self.maxPause = maxPause
        self.maxRetryAfter = maxRetryAfter
    }

    /// Up to four attempts of idempotent requests.
    public static let standard = RetryRule()
    /// One attempt.
    public static let never = RetryRule(maxAttempts: 1)
}
