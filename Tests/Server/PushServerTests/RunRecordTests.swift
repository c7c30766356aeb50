import TestSupport
import Testing

@testable import PushServer

@Suite struct RunRecordTests {
    @Test(
        arguments: [
            (0, 0, nil, nil), (1, 0, nil, "1 message waiting"),
            (2, 3, nil, "2 messages waiting, 3 messages scheduled"), (0, 1, nil, "1 message scheduled"),
            (
                311, 1, RunRecord.UncleanEnd(maxInFlight: 2000),
                "recovered 312 messages after a crash, up to 2000 deliveries may arrive twice"
            ),
            (
                1, 0, RunRecord.UncleanEnd(maxInFlight: 1, wasStopped: true),
                "recovered 1 message after a stop that did not wait for all answers, up to 1 delivery may arrive twice"
            ),
            (
                0, 0, RunRecord.UncleanEnd(maxInFlight: nil),
                "recovered after a crash: no message was waiting, so no delivery arrives twice"
            ),
            (
                0, 2, RunRecord.UncleanEnd(maxInFlight: 1000),
                "recovered after a crash, 2 messages scheduled: no message was waiting, so no delivery arrives twice"
            ),
            (
                3, 0, RunRecord.UncleanEnd(maxInFlight: 0),
                "recovered 3 messages after a crash, no delivery arrives twice"
            ),
        ] as [(Int, Int, RunRecord.UncleanEnd?, String?)])
    func `A start reports the end of the last run`(
        waiting: Int, scheduled: Int, uncleanEnd: RunRecord.UncleanEnd?, sentence: String?
    ) {
        #expect(ResumeDescription(waiting: waiting, scheduled: scheduled, uncleanEnd: uncleanEnd).sentence == sentence)
    }

    @Test func `The record of a run keeps the number of unanswered deliveries and the reason of the end`() throws {
        let empty = RunRecord(directory: try TemporaryDirectory().path)
        #expect(empty.uncleanEnd() == nil)
        let directory = try TemporaryDirectory()
        let kept = RunRecord(directory: directory.path)
        kept.write(maxInFlight: 7)
        #expect(kept.uncleanEnd() == RunRecord.UncleanEnd(maxInFlight: 7))
        kept.end(unanswered: 2)
        #expect(kept.uncleanEnd() == RunRecord.UncleanEnd(maxInFlight: 2, wasStopped: true))
        kept.end(unanswered: 0)
        #expect(kept.uncleanEnd() == nil)
        // The bound of a later version may mean something else.
        _ = try directory.write(RunRecord.fileName, containing: #"{"v":2,"pid":1,"started_at":1,"most_in_flight":7}"#)
        #expect(kept.uncleanEnd() == RunRecord.UncleanEnd(maxInFlight: nil))
        _ = try directory.write(RunRecord.fileName, containing: #"{"pid":1,"started_at":1,"most_in_flight":7}"#)
        #expect(kept.uncleanEnd() == RunRecord.UncleanEnd(maxInFlight: 7))
    }

    @Test(
        arguments: [
            (nil, 0, nil), (nil, 3, RunRecord.UncleanEnd(maxInFlight: 3, wasStopped: true)),
            (RunRecord.UncleanEnd(maxInFlight: 7), 0, RunRecord.UncleanEnd(maxInFlight: 7)),
            (RunRecord.UncleanEnd(maxInFlight: 7), 3, RunRecord.UncleanEnd(maxInFlight: 10)),
            (RunRecord.UncleanEnd(maxInFlight: nil), 3, RunRecord.UncleanEnd(maxInFlight: nil)),
        ] as [(RunRecord.UncleanEnd?, Int, RunRecord.UncleanEnd?)])
    func `A start that fails keeps the record of the run before it`(
        previous: RunRecord.UncleanEnd?, unanswered: Int, uncleanEnd: RunRecord.UncleanEnd?
    ) throws {
        let directory = try TemporaryDirectory()
        let kept = RunRecord(directory: directory.path)
        kept.write(maxInFlight: nil)
        #expect(kept.uncleanEnd() == RunRecord.UncleanEnd(maxInFlight: nil))
        kept.abandon(unanswered: unanswered, previous: previous)
        #expect(kept.uncleanEnd() == uncleanEnd)
    }
}
