import PushTime

/// The clock by which stored data ages: the wall clock, but without its jumps ahead.
///
/// If the wall clock is a year ahead for some minutes, all events and ids would expire, and devices would get messages
/// a second time. This clock therefore follows the monotonic clock until the wall clock has been ahead for a day. It
/// follows a clock that is set back at once, because nothing expires by that.
struct AgeClock {
    /// The milliseconds by which the wall clock may be ahead of the elapsed time, after a pause or a correction.
    static let tolerance: Int64 = 3_600_000
    /// The time for which the wall clock must stay further ahead than that before this clock follows it.
    static let patience: Duration = .seconds(86_400)

    /// The state that the next process continues with.
    struct Stored: Equatable {
        /// The time of this clock, in milliseconds since 1970.
        let time: Int64
        /// The reading of the wall clock when it was found to be ahead; nil if it is not ahead.
        var aheadSince: Int64?
    }

    /// The current time, in milliseconds since 1970.
    private(set) var time: Int64
    private var steady: MonotonicTime
    private var aheadSince: (steady: MonotonicTime, wall: Int64)?

    /// - Parameter stored: the state that was stored last, if any. If the wall clock was ahead then and still is, the
    ///   wall clock itself shows for how long, because a monotonic clock does not continue over a restart.
    init(last stored: Stored?, wall: Int64, steady: MonotonicTime) {
        time = stored?.time ?? wall
        self.steady = steady
        if let since = stored?.aheadSince {
            let (passed, overflow) = wall.subtractingReportingOverflow(since)
            let counted = overflow ? 0 : max(0, min(passed, Self.patience.wholeMilliseconds))
            aheadSince = (steady + .milliseconds(-counted), since)
        }
        advance(wall: wall, steady: steady)
    }

    var stored: Stored { Stored(time: time, aheadSince: aheadSince?.wall) }

    /// Advances to the given readings of the wall clock, in milliseconds, and of the monotonic clock.
    mutating func advance(wall: Int64, steady now: MonotonicTime) {
        let passed = max(.zero, now - steady).wholeMilliseconds
        steady = now
        let expected = time.addingReportingOverflow(passed)
        let limit = expected.partialValue.addingReportingOverflow(Self.tolerance)
        if expected.overflow || limit.overflow || wall <= limit.partialValue {
            time = wall
            aheadSince = nil
        } else if let since = aheadSince, now - since.steady >= Self.patience {
            time = wall
            aheadSince = nil
        } else {
            time = expected.partialValue
            aheadSince = aheadSince ?? (now, wall)
        }
    }
}
