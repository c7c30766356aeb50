import PushTime
import TestSupport
import Testing

@testable import PushLogic

/// The request for scheduled messages that are due.
@Suite struct ScheduleTests {
    @Test func `The earliest message decides when the next request is due`() {
        var schedule = Schedule()
        #expect(schedule.wait(at: WallTime(seconds: 100)) == nil && !schedule.isDue(at: WallTime(seconds: 100)))
        schedule.note(150)
        schedule.note(120)
        schedule.note(130)
        #expect(schedule.nextDue == 120)
        #expect(schedule.wait(at: WallTime(seconds: 100)) == .seconds(20))
        #expect(!schedule.isDue(at: WallTime(seconds: 119)) && schedule.isDue(at: WallTime(seconds: 120)))
        #expect(schedule.wait(at: WallTime(seconds: 200)) == .zero)
    }

    @Test func `There is one request at a time, and another one after a failure`() {
        var schedule = Schedule()
        schedule.note(120)
        schedule.beginRequest()
        #expect(!schedule.isDue(at: WallTime(seconds: 200)) && schedule.wait(at: WallTime(seconds: 200)) == nil)
        schedule.requestFailed()
        #expect(schedule.isDue(at: WallTime(seconds: 200)))
        schedule.beginRequest()
        schedule.requestAnswered(next: 300)
        #expect(schedule.nextDue == 300 && !schedule.isDue(at: WallTime(seconds: 200)))
        schedule.beginRequest()
        schedule.requestAnswered(next: nil)
        #expect(schedule.nextDue == nil)
    }

    @Test func `A message that is accepted during a request is not forgotten`() {
        var schedule = Schedule()
        schedule.note(120)
        schedule.beginRequest()
        schedule.note(140)
        schedule.note(130)
        schedule.requestAnswered(next: nil)
        #expect(schedule.nextDue == 130)
        // It was accepted before the next request, whose answer accounts for it.
        schedule.beginRequest()
        schedule.requestAnswered(next: 500)
        #expect(schedule.nextDue == 500)
    }
}
