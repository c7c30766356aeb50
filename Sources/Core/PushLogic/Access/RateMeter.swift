import PushTime

/// Measures events against a ``RateLimit`` in one machine word: the time at which all taken events are paid for
/// (the generic cell rate algorithm).
struct RateMeter: Sendable {
    private var paidAt = MonotonicTime(nanoseconds: .min)

    /// The time until one more event is allowed; zero if it is allowed now.
    func wait(_ limit: RateLimit, at now: MonotonicTime) -> Duration {
        let room = limit.every * (limit.burst - 1)
        let debt = max(paidAt, now) - now
        return max(.zero, debt - room)
    }

    /// Takes an event. The debt never exceeds the burst, so that events which are taken although they are not allowed
    /// do not prolong the wait without end.
    mutating func take(_ limit: RateLimit, at now: MonotonicTime) {
        paidAt = min(max(paidAt, now) + limit.every, now + limit.every * limit.burst)
    }

    /// The debt, for the choice of an entry that can be forgotten.
    func debt(at now: MonotonicTime) -> Duration { max(paidAt, now) - now }
}
