import PushTime
import Testing

@testable import PushLogic

@Suite struct DatabaseClockTests {
    private let policy = ClusterPolicy(lease: .seconds(5))

    /// A clock that is observed every so often, by a node and a database whose clocks may differ.
    private struct Desk {
        var clock = DatabaseClock()
        let policy: ClusterPolicy
        var here: Duration = .zero
        var there: Duration = .seconds(1_700_000_000)

        mutating func observe(after here: Duration, there: Duration) -> Duration? {
            self.here += here
            self.there += there
            let now = MonotonicTime(nanoseconds: self.here.wholeNanoseconds)
            return clock.observe(
                self.there, sent: now, received: now + .milliseconds(10), lease: policy.lease, policy: policy)
        }
    }

    @Test func `A clock is trusted after a whole lease on one connection`() {
        var desk = Desk(policy: policy)
        for _ in 0..<4 {
            #expect(desk.observe(after: .seconds(1.5), there: .seconds(1.5)) == nil)
            #expect(!desk.clock.isTrusted)
        }
        #expect(desk.observe(after: .seconds(1.5), there: .seconds(1.5)) == nil)
        #expect(desk.clock.isTrusted)
        desk.clock.reset()
        #expect(!desk.clock.isTrusted)
        _ = desk.observe(after: .seconds(1.5), there: .seconds(1.5))
        #expect(!desk.clock.isTrusted)
    }

    @Test(arguments: [0.8, 1.25]) func `A lease counts by the slower of the two clocks`(_ rate: Double) {
        var desk = Desk(policy: policy)
        for _ in 0..<4 { _ = desk.observe(after: .seconds(1.5) * rate, there: .seconds(1.5)) }
        // Six seconds there are 4.8 or 7.5 here; six at least 5 in both are reached with the fifth.
        #expect(!desk.clock.isTrusted)
    }

    @Test func `A step forward ends the trust, and is reported`() {
        var desk = Desk(policy: policy)
        for _ in 0..<6 { _ = desk.observe(after: .seconds(1.5), there: .seconds(1.5)) }
        #expect(desk.clock.isTrusted)
        let step = desk.observe(after: .seconds(1.5), there: .seconds(4))
        #expect(step != nil)
        #expect(!desk.clock.isTrusted)
    }

    @Test func `A step back ends the trust`() {
        var desk = Desk(policy: policy)
        for _ in 0..<6 { _ = desk.observe(after: .seconds(1.5), there: .seconds(1.5)) }
        #expect(desk.observe(after: .seconds(1.5), there: .seconds(-1)) == nil)
        #expect(!desk.clock.isTrusted)
    }

    @Test(arguments: [0.81, 1, 1.19])
    func `Clocks that differ by less than the margin are not a step`(_ rate: Double) {
        var desk = Desk(policy: policy)
        for _ in 0..<20 { #expect(desk.observe(after: .seconds(1.5) * rate, there: .seconds(1.5)) == nil) }
        #expect(desk.clock.isTrusted)
    }

    @Test func `A pause of more than a lease ends the trust`() {
        var desk = Desk(policy: policy)
        for _ in 0..<6 { _ = desk.observe(after: .seconds(1.5), there: .seconds(1.5)) }
        _ = desk.observe(after: .seconds(6), there: .seconds(6))
        #expect(!desk.clock.isTrusted)
    }
}
