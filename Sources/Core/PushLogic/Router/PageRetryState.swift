import PushTime

/// The retry state of a page request that failed.
struct PageRetryState {
    private var failures = 0
    /// The number of failures in a row between which the registry answered other requests.
    private var failuresAlone = 0
    /// The number of answers that the registry had given by the last failure.
    private var answers: UInt64
    /// The time at which the request is sent again.
    private(set) var askAgainAt: MonotonicTime
    /// The last error.
    private(set) var text = ""

    /// Creates the state before the first failure. `answers` is the number of answers that the registry has given.
    init(answers: UInt64, at now: MonotonicTime) {
        self.answers = answers
        askAgainAt = now
    }

    /// Records a failure.
    mutating func failed(_ error: String, answers: UInt64, at now: MonotonicTime, backoff: Backoff) {
        failures += 1
        failuresAlone = answers == self.answers ? 0 : failuresAlone + 1
        self.answers = answers
        askAgainAt = now + backoff.delay(afterFailures: failures, random: 0)
        text = error
    }

    /// Ends the delay.
    mutating func endDelay(at now: MonotonicTime) { askAgainAt = now }

    /// Whether the request itself fails, and not the registry. A single failure may be a coincidence: the answer in
    /// between may have been under way already.
    var failsAlone: Bool { failuresAlone >= 2 }
}
