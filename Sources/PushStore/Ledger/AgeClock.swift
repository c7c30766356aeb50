import PushTime

/// The time by which what is kept grows old: the wall clock's, but not where that jumps ahead.
///
/// A clock that is a year ahead for some minutes would otherwise have all events and ids forgotten, and devices would get
/// again what they had. So time goes on here as the clock that never jumps does, until the wall clock has been ahead for
/// a day. A clock that is set back is believed at once: nothing is forgotten by that.
struct AgeClock {
    /// Milliseconds by which the wall clock may be ahead of what has passed and is believed: a pause, or a correction.
    static let tolerance: Int64 = 3_600_000
    /// How long it must have been ahead by more than that to be believed.
    static let patience: Duration = .seconds(86_400)

    /// What the next run begins with.
    struct Stored: Equatable {
        /// Milliseconds since 1970, by this clock.
        let time: Int64
        /// The same by the wall clock: when that was found to be ahead; nil if it is not.
        var aheadSince: Int64?
    }

    /// Milliseconds since 1970.
    private(set) var time: Int64
    private var steady: MonotonicTime
    private var aheadSince: (steady: MonotonicTime, wall: Int64)?

    /// - Parameter stored: what was written of it last; nil if nothing was. A wall clock that was ahead then, and still
    ///   is, has been ahead for as long as it says: no clock that never jumps counts from one run to the next.
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

    /// The wall clock shows this, in milliseconds, and the clock that never jumps that.
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
