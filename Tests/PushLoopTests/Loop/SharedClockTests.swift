import PushTime
import Testing

@testable import PushLoop

@Suite struct SharedClockTests {
    private static func offset(_ clock: SharedClock) -> Int64 {
        let before = WallTime.current()
        let now = clock.now
        // The time that passes between the two readings is less than the half hour that the tests look for.
        return now.milliseconds(since: before) / 1_800_000
    }

    @Test func `The clock of the database corrects one that is an hour off, in both directions`() {
        let clock = SharedClock()
        #expect(Self.offset(clock) == 0)
        clock.observed(.seconds(3600), error: .milliseconds(3))
        #expect(Self.offset(clock) == 2)
        clock.observed(.seconds(-7200), error: .milliseconds(3))
        #expect(Self.offset(clock) == -4 || Self.offset(clock) == -3)
        clock.observed(.milliseconds(4), error: .milliseconds(3))
        #expect(Self.offset(clock) == 0)
    }

    @Test func `A reading that took longer than the difference changes nothing`() {
        let clock = SharedClock()
        clock.observed(.seconds(3600), error: .seconds(4000))
        #expect(Self.offset(clock) == 0)
    }
}
