import PushTime

/// The clock by which stored data ages: the wall clock, but without its jumps ahead.
///
/// If the wall clock is a year ahead for some minutes, all events and ids would expire, and devices would get messages
/// a second time. This clock therefore follows the monotonic clock until the wall clock has been ahead for a day without
/// another jump. It follows a clock that is set back at once, because nothing expires by that.
struct AgeClock {
    /// The time by which the wall clock may be ahead of the elapsed time, after a pause or a correction.
    static let tolerance: Duration = .seconds(3600)
    /// The time for which the wall clock must stay further ahead than that before this clock follows it.
    static let patience: Duration = .seconds(86_400)

    /// The state that the next process continues with.
    struct Stored: Equatable {
        /// The time of this clock.
        let time: WallTime
        /// The reading of the wall clock when it was found to be ahead; nil if it is not ahead.
        var aheadSince: WallTime?
    }

    /// The interval at which the state is stored.
    private static let storedEvery: Duration = .seconds(600)

    /// The current time.
    private(set) var time: WallTime
    /// The state that was read or stored last.
    var lastStored: Stored?
    private var steady: MonotonicTime
    private var aheadSince: (steady: MonotonicTime, wall: WallTime)?

    /// - Parameter stored: the state that was stored last, if any. If the wall clock was ahead then and still is, the
    ///   wall clock itself shows for how long, because a monotonic clock does not continue over a restart.
    init(last stored: Stored?, wall: WallTime, steady: MonotonicTime) {
        time = stored?.time ?? wall
        lastStored = stored
        self.steady = steady
        if let since = stored?.aheadSince {
            let counted = max(0, min(wall.milliseconds(since: since), Self.patience.wholeMilliseconds))
            aheadSince = (steady + .milliseconds(-counted), wall.adding(milliseconds: -counted))
        }
        advance(wall: wall, steady: steady)
    }

    var stored: Stored { Stored(time: time, aheadSince: aheadSince?.wall) }

    /// Whether the state is to be stored.
    var isStoreDue: Bool {
        guard let lastStored, lastStored.aheadSince == aheadSince?.wall else { return true }
        return time < lastStored.time || time >= lastStored.time + Self.storedEvery
    }

    /// Advances to the given readings of the wall clock and of the monotonic clock.
    mutating func advance(wall: WallTime, steady now: MonotonicTime) {
        let passed = max(.zero, now - steady)
        steady = now
        let expected = time + passed
        if wall <= expected + Self.tolerance {
            time = wall
            aheadSince = nil
        } else if let since = aheadSince, Self.follows(wall, expected: since.wall + (now - since.steady)) {
            let isBelieved = now - since.steady >= Self.patience
            time = isBelieved ? wall : expected
            if isBelieved { aheadSince = nil }
        } else {
            // It has jumped ahead, or once more.
            time = expected
            aheadSince = (now, wall)
        }
    }

    private static func follows(_ wall: WallTime, expected: WallTime) -> Bool {
        abs(max(wall.milliseconds(since: expected), -.max)) <= tolerance.wholeMilliseconds
    }
}
