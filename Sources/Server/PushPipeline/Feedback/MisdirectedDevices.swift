package import PushTime

/// The devices of one app that were deactivated within an hour by an answer that every token gets in the wrong
/// environment. After the brake has stopped a flood of such answers, an operator may want them back.
package struct MisdirectedDevices: Sendable, Equatable {
    /// The number of devices.
    package private(set) var count = 0
    /// The time of the first of them.
    package var since: WallTime? { minutes.first?.since }

    /// The counts by minute, oldest first.
    private var minutes: [Minute] = []

    private struct Minute: Sendable, Equatable {
        let since: WallTime
        var count: Int
    }

    package init() {}

    package mutating func add(_ count: Int, at now: WallTime) {
        guard count > 0 else { return }
        // Older devices, and those of a clock that was set back, have another cause.
        minutes.removeAll { now < $0.since || $0.since + .seconds(3600) <= now }
        if let last = minutes.last, now < last.since + .seconds(60) {
            minutes[minutes.count - 1].count += count
        } else {
            minutes.append(Minute(since: now, count: count))
        }
        self.count = minutes.reduce(0) { $0 + $1.count }
    }
}
