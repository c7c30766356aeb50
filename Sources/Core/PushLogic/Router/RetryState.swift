import PushTime

/// The retry state of an operation that failed.
struct RetryState {
    /// The time from which on the operation is retried; nil if it did not fail.
    private(set) var until: MonotonicTime?
    /// The last error.
    private(set) var text: String?
    private var failures = 0

    /// Records a failure. Failures before the next retry count as one, since they have the same cause.
    mutating func failed(_ error: String, at now: MonotonicTime, backoff: Backoff) {
        text = error
        if let until, until > now { return }
        failures += 1
        until = now + backoff.delay(afterFailures: failures, random: 0)
    }

    mutating func succeeded(at now: MonotonicTime) {
        // This answer may belong to a request from before the failure, so it does not prove that the failure is over.
        if let until, until > now { return }
        if failures > 0 { self = RetryState() }
    }

    /// Returns whether the operation must not be retried yet.
    func isDelayed(at now: MonotonicTime) -> Bool { until.map { $0 > now } ?? false }
}
