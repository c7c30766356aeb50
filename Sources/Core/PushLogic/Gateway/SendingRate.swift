package import PushTime

/// The rate at which an app may send, where its push service counts requests by the minute. What a minute allows is
/// spread over it: at most a tenth of a second, and one delivery, is saved up, and less than a hundredth of a second is
/// saved further.
///
/// All amounts are whole nanoseconds, so that no rounding error lets more through than the rate allows.
package struct SendingRate: Sendable {
    /// The largest number of deliveries a minute.
    package static let maxPerMinute = 600_000_000

    private static let minute: Int64 = 60_000_000_000
    private static let window: Int64 = 100_000_000
    /// The least time whose deliveries are sent together. At a high rate, a wake-up and a write for each delivery would
    /// cost more than the delivery.
    private static let step: Int64 = 10_000_000

    /// The time between two deliveries.
    private var interval: Int64
    /// The time at which all saved deliveries are used up; nil until the first look.
    private var emptyAt: MonotonicTime?

    package init(perMinute: Int) {
        interval = Self.interval(perMinute)
    }

    private static func interval(_ perMinute: Int) -> Int64 {
        let number = Int64(min(max(perMinute, 1), maxPerMinute))
        return (minute + number - 1) / number
    }

    /// Returns the number of deliveries that may be sent now.
    package mutating func room(_ now: MonotonicTime) -> Int {
        // With less, a look that is a little late would lose what it could not save up.
        let earliest = now + .nanoseconds(-(Self.window + interval))
        let empty = max(emptyAt ?? earliest, earliest)
        emptyAt = empty
        let saved = max(0, now.nanoseconds &- empty.nanoseconds)
        return saved < Self.step ? 0 : Int(clamping: saved / interval)
    }

    /// Notes that deliveries are sent. Called after ``room(_:)``.
    package mutating func sent(_ count: Int) {
        guard count > 0, let empty = emptyAt else { return }
        let (time, isTooLong) = Int64(count).multipliedReportingOverflow(by: interval)
        emptyAt = empty + .nanoseconds(isTooLong ? Self.minute : time)
    }

    /// The time of the next look, if there is no room now.
    package var nextRoom: MonotonicTime? { emptyAt.map { $0 + .nanoseconds(max(interval, Self.step)) } }

    /// Changes the rate. What was sent before counts by the former one.
    package mutating func change(perMinute: Int) { interval = Self.interval(perMinute) }
}
