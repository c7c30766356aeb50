import PushTime
import TestSupport
import Testing

@testable import PushStore

@Suite struct CancelTimesTests {
    private static let day: Int64 = 86_400_000
    private static let start: Int64 = 1_700_000_000_000

    private static func id(_ number: UInt64) -> CancelTimes.Cancelled {
        CancelTimes.Cancelled(number: number, fingerprint: 100 + number)
    }

    private static func old(
        _ times: inout CancelTimes, at now: Int64, unless isKept: (UInt64) -> Bool = { _ in false }
    ) -> [UInt64] {
        times.removeAll(
            before: WallTime(milliseconds: now - 7 * day), now: WallTime(milliseconds: now), unless: isKept
        ).map(\.number).sorted()
    }

    @Test func `Cancelled ids are forgotten once, to a minute, unless they are still open`() {
        var times = CancelTimes()
        for number in 0..<UInt64(5) {
            times.add(Self.id(number), at: WallTime(milliseconds: Self.start + Int64(number) * 120_000))
        }
        #expect(Self.old(&times, at: Self.start + 7 * Self.day) == [])
        #expect(Self.old(&times, at: Self.start + 7 * Self.day + 60_000) == [0])
        #expect(Self.old(&times, at: Self.start + 8 * Self.day, unless: { $0 == 2 }) == [1, 3, 4])
        #expect(times.contains(2) && !times.contains(1))
        #expect(Self.old(&times, at: Self.start + 8 * Self.day) == [2])
        #expect(Self.old(&times, at: Self.start + 9 * Self.day) == [])
    }

    @Test func `An id that is cancelled anew counts from then`() {
        var times = CancelTimes()
        times.add(Self.id(1), at: WallTime(milliseconds: Self.start))
        times.add(Self.id(1), at: WallTime(milliseconds: Self.start + Self.day))
        #expect(Self.old(&times, at: Self.start + 7 * Self.day + 120_000) == [])
        #expect(Self.old(&times, at: Self.start + 8 * Self.day + 120_000) == [1])
    }

    @Test func `What is dated ahead counts from the time at which that is seen`() {
        var times = CancelTimes()
        times.add(Self.id(1), at: WallTime(milliseconds: Self.start + 3650 * Self.day))
        #expect(Self.old(&times, at: Self.start) == [])
        #expect(Self.old(&times, at: Self.start + 7 * Self.day + 120_000) == [1])
    }

    @Test(arguments: [.distantPast, 0, .distantFuture] as [WallTime], [.distantPast, 0, .distantFuture] as [WallTime])
    func `Extreme times do not overflow`(time: WallTime, now: WallTime) {
        var times = CancelTimes()
        times.add(Self.id(1), at: time)
        _ = times.removeAll(before: now - .seconds(60), now: now, unless: { _ in false })
    }
}
