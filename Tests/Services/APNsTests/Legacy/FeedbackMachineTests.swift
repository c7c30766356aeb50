import PushLogic
import PushTime
import Testing

@testable import APNs

@Suite struct FeedbackMachineTests {
    private static let start = MonotonicTime(nanoseconds: 0)

    @Test func `The spool is replayed first, then the first poll comes within the jitter`() {
        var machine = FeedbackMachine(now: Self.start, random: 0.5)
        #expect(machine.next == (.replay, Self.start))
        machine.replayed()
        #expect(machine.next == (.poll, Self.start + .seconds(30)))
    }

    @Test func `Polls come once a day, and failed polls are retried with growing delays`() {
        var machine = FeedbackMachine(now: Self.start, random: 0)
        machine.replayed()
        machine.pollEnded(failed: false, isBehind: false, now: Self.start, random: 0)
        #expect(machine.next == (.poll, Self.start + .seconds(86_400)))
        let waits = [60, 120, 240, 480, 960, 1920, 3600, 3600]
        for wait in waits {
            machine.pollEnded(failed: true, isBehind: false, now: Self.start, random: 0)
            #expect(machine.next == (.poll, Self.start + .seconds(wait)))
        }
        machine.pollEnded(failed: false, isBehind: false, now: Self.start, random: 0)
        machine.pollEnded(failed: true, isBehind: false, now: Self.start, random: 0)
        #expect(machine.next == (.poll, Self.start + .seconds(60)))
    }

    @Test func `There is no poll while the sink is behind`() {
        var machine = FeedbackMachine(now: Self.start, random: 0)
        machine.replayed()
        machine.pollEnded(failed: false, isBehind: true, now: Self.start, random: 0)
        #expect(machine.next == (.replay, Self.start + .seconds(1)))
        machine.replayFailed(now: Self.start, random: 0)
        #expect(machine.next == (.replay, Self.start + .seconds(2)))
        machine.replayed()
        #expect(machine.next == (.poll, Self.start + .seconds(86_400)))
    }
}
