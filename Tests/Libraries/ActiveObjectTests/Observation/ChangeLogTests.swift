import PushSQLite
import Testing

@testable import ActiveObject

@Suite struct ChangeLogTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let changes: [RowChange]
        let expected: ChangeSet?
    }

    @Test(arguments: [
        Case(testDescription: "nothing", changes: [], expected: nil),
        Case(testDescription: "an insert", changes: [.inserted(1)], expected: ChangeSet(inserted: [1])),
        Case(
            testDescription: "an insert that is updated", changes: [.inserted(1), .updated(from: 1, to: 1)],
            expected: ChangeSet(inserted: [1])),
        Case(testDescription: "an insert that is removed", changes: [.inserted(1), .removed(1)], expected: nil),
        Case(
            testDescription: "an update", changes: [.updated(from: 1, to: 1), .updated(from: 1, to: 1)],
            expected: ChangeSet(updated: [1])),
        Case(
            testDescription: "an update that is removed", changes: [.updated(from: 1, to: 1), .removed(1)],
            expected: ChangeSet(removed: [1])),
        Case(
            testDescription: "a removal that is undone by an insert", changes: [.removed(1), .inserted(1)],
            expected: ChangeSet(updated: [1])),
        Case(
            testDescription: "a row that comes, goes and comes", changes: [.inserted(1), .removed(1), .inserted(1)],
            expected: ChangeSet(inserted: [1])),
        Case(
            testDescription: "a row that goes, comes and goes", changes: [.removed(1), .inserted(1), .removed(1)],
            expected: ChangeSet(removed: [1])),
        Case(
            testDescription: "another key", changes: [.updated(from: 1, to: 2)],
            expected: ChangeSet(inserted: [2], removed: [1])),
        Case(
            testDescription: "there and back", changes: [.updated(from: 1, to: 2), .updated(from: 2, to: 1)],
            expected: ChangeSet(updated: [1])),
        Case(
            testDescription: "a new row with another key", changes: [.inserted(1), .updated(from: 1, to: 2)],
            expected: ChangeSet(inserted: [2])),
        Case(
            testDescription: "the key of a removed row", changes: [.removed(2), .updated(from: 1, to: 2)],
            expected: ChangeSet(updated: [2], removed: [1])),
        Case(
            testDescription: "in order", changes: [.inserted(3), .inserted(-1), .inserted(2)],
            expected: ChangeSet(inserted: [-1, 2, 3])),
    ])
    func `A change log returns the net effect`(_ testCase: Case) {
        var log = ChangeLog(limit: 100)
        log.begin()
        for change in testCase.changes { log.note(change, in: 7) }
        #expect(log.netEffect() == (testCase.expected.map { [7: $0] } ?? [:]))
    }

    @Test func `Rolling back a savepoint removes its changes`() {
        var log = ChangeLog(limit: 100)
        log.begin()
        log.note(.inserted(1), in: 0)
        log.savepoint(0)
        log.note(.inserted(2), in: 0)
        log.savepoint(1)
        log.note(.inserted(3), in: 1)
        log.rollBack(to: 1)
        log.note(.inserted(4), in: 1)
        log.rollBack(to: 1)
        log.note(.inserted(5), in: 1)
        log.release(1)
        #expect(log.netEffect() == [0: ChangeSet(inserted: [1, 2]), 1: ChangeSet(inserted: [5])])
        log.rollBack(to: 0)
        log.release(0)
        #expect(log.netEffect() == [0: ChangeSet(inserted: [1])])
    }

    @Test func `An unreported savepoint counts as opened before the first change`() {
        var log = ChangeLog(limit: 100)
        log.begin()
        log.savepoint(2)
        log.note(.inserted(1), in: 0)
        log.rollBack(to: 1)
        #expect(log.isEmpty)
        log.note(.inserted(2), in: 0)
        // A savepoint that is not open has no effect.
        log.rollBack(to: 5)
        log.release(5)
        log.rollBack(to: -1)
        #expect(log.netEffect() == [0: ChangeSet(inserted: [2])])
    }

    @Test func `Changes beyond the limit are unknown until the next transaction`() {
        var log = ChangeLog(limit: 3)
        log.begin()
        log.savepoint(0)
        for id in 1...3 { log.note(.inserted(Int64(id)), in: 0) }
        #expect(log.isComplete)
        log.note(.inserted(4), in: 0)
        #expect(!log.isComplete)
        log.rollBack(to: 0)
        #expect(!log.isComplete && !log.isEmpty)
        log.begin()
        log.note(.inserted(5), in: 0)
        #expect(log.isComplete)
        #expect(log.netEffect() == [0: ChangeSet(inserted: [5])])
    }
}
