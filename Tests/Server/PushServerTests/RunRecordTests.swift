import TestSupport
import Testing

@testable import PushServer

@Suite struct RunRecordTests {
    @Test(
        arguments: [
            (0, 0, nil, nil), (1, 0, nil, "1 message waiting"),
            (2, 3, nil, "2 messages waiting, 3 messages scheduled"), (0, 1, nil, "1 message scheduled"),
            (
                311, 1, RunRecord.Remains(maxInFlight: 2000),
                "recovered 312 messages after a crash, up to 2000 deliveries may arrive twice"
            ),
            (
                1, 0, RunRecord.Remains(maxInFlight: 1, wasStopped: true),
                "recovered 1 message after a stop that did not wait for all answers, up to 1 delivery may arrive twice"
            ),
            (
                0, 0, RunRecord.Remains(maxInFlight: nil),
                "recovered after a crash: no message was waiting, so no delivery arrives twice"
            ),
            (
                0, 2, RunRecord.Remains(maxInFlight: 1000),
                "recovered after a crash, 2 messages scheduled: no message was waiting, so no delivery arrives twice"
            ),
            (3, 0, RunRecord.Remains(maxInFlight: 0), "recovered 3 messages after a crash, no delivery arrives twice"),
        ] as [(Int, Int, RunRecord.Remains?, String?)])
    func `A start reports the remains of the last run`(
        waiting: Int, scheduled: Int, remains: RunRecord.Remains?, sentence: String?
    ) {
        #expect(ResumeDescription(waiting: waiting, scheduled: scheduled, remains: remains).sentence == sentence)
    }

    @Test func `A run mark keeps the number of unanswered deliveries and the reason of the end`() throws {
        let mark = RunRecord(directory: try TemporaryDirectory().path)
        #expect(mark.remains() == nil)
        let directory = try TemporaryDirectory()
        let kept = RunRecord(directory: directory.path)
        kept.write(maxInFlight: 7)
        #expect(kept.remains() == RunRecord.Remains(maxInFlight: 7))
        kept.end(unanswered: 2)
        #expect(kept.remains() == RunRecord.Remains(maxInFlight: 2, wasStopped: true))
        kept.end(unanswered: 0)
        #expect(kept.remains() == nil)
        // The bound of a later version may mean something else.
        _ = try directory.write(RunRecord.fileName, containing: #"{"v":2,"pid":1,"started_at":1,"most_in_flight":7}"#)
        #expect(kept.remains() == RunRecord.Remains(maxInFlight: nil))
        _ = try directory.write(RunRecord.fileName, containing: #"{"pid":1,"started_at":1,"most_in_flight":7}"#)
        #expect(kept.remains() == RunRecord.Remains(maxInFlight: 7))
    }

    @Test(
        arguments: [
            (nil, 0, nil), (nil, 3, RunRecord.Remains(maxInFlight: 3, wasStopped: true)),
            (RunRecord.Remains(maxInFlight: 7), 0, RunRecord.Remains(maxInFlight: 7)),
            (RunRecord.Remains(maxInFlight: 7), 3, RunRecord.Remains(maxInFlight: 10)),
            (RunRecord.Remains(maxInFlight: nil), 3, RunRecord.Remains(maxInFlight: nil)),
        ] as [(RunRecord.Remains?, Int, RunRecord.Remains?)])
    func `A start that fails keeps the mark of the run before it`(
        previous: RunRecord.Remains?, unanswered: Int, remains: RunRecord.Remains?
    ) throws {
        let directory = try TemporaryDirectory()
        let kept = RunRecord(directory: directory.path)
        kept.write(maxInFlight: nil)
        #expect(kept.remains() == RunRecord.Remains(maxInFlight: nil))
        kept.abandon(unanswered: unanswered, previous: previous)
        #expect(kept.remains() == remains)
    }
}
