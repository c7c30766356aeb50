import PushLoop
import TestSupport
import Testing

@testable import PushPostgreSQL

@Suite struct PipelineMachineTests {
    private typealias Machine = PipelineMachine<Int>

    private static let duplicate = PostgreSQLFailure(sqlState: .uniqueViolation, message: "duplicate")

    private func machine(_ calls: Int...) -> PipelineMachine<Int> {
        var machine = PipelineMachine<Int>()
        for (index, count) in calls.enumerated() {
            machine.sent(
                .section, calls: count, statements: [], byteCount: 10,
                deadline: MonotonicTime(nanoseconds: Int64(100 - index)))
        }
        return machine
    }

    /// The end of the first section as text; nil if it must wait.
    private func text(_ action: PipelineMachine<Int>.Action) -> String {
        switch action {
        case .wait: "wait"
        case .disconnect: "disconnect"
        case .end(let kind, .done(let results)): "\(kind) done \(results)"
        case .end(let kind, .refused(let failure)): "\(kind) refused \(failure.message)"
        case .end(let kind, .unknown(let reason)): "\(kind) unknown \(reason)"
        }
    }

    @Test func `A section is done at its end and not before`() {
        var machine = machine(2, 1)
        #expect(machine.sectionCount == 2 && machine.byteCount == 20)
        #expect(machine.deadline == MonotonicTime(nanoseconds: 99))
        #expect(text(machine.received(.result(1))) == "wait")
        #expect(text(machine.received(.result(2))) == "wait")
        #expect(text(machine.received(.synchronized)) == "section done [1, 2]")
        #expect(text(machine.received(.result(3))) == "wait")
        #expect(text(machine.received(.synchronized)) == "section done [3]")
        #expect(!machine.isWaiting && machine.byteCount == 0 && machine.sectionCount == 0)
    }

    @Test func `An error refuses its section and no other`() {
        var machine = machine(3, 1)
        #expect(text(machine.received(.result(1))) == "wait")
        #expect(text(machine.received(.failed(Self.duplicate))) == "wait")
        #expect(text(machine.received(.skipped)) == "wait")
        #expect(text(machine.received(.synchronized)) == "section refused duplicate")
        #expect(text(machine.received(.result(2))) == "wait")
        #expect(text(machine.received(.synchronized)) == "section done [2]")
    }

    @Test func `An error of the commit refuses the section`() {
        var machine = machine(1)
        #expect(text(machine.received(.result(1))) == "wait")
        #expect(text(machine.received(.failed(Self.duplicate))) == "wait")
        #expect(text(machine.received(.synchronized)) == "section refused duplicate")
    }

    @Test func `A fatal error after the last statement leaves the outcome unknown`() {
        let shutdown = PostgreSQLFailure(sqlState: .adminShutdown, isFatal: true, message: "shutdown")
        var late = machine(1, 1)
        _ = late.received(.result(1))
        #expect(text(late.received(.failed(shutdown))) == "wait")
        let outcomes = late.lost("lost").map { text(.end($0.kind, $0.outcome)) }
        #expect(outcomes == ["section unknown lost", "section unknown lost"])

        var early = machine(2, 1)
        _ = early.received(.result(1))
        _ = early.received(.failed(shutdown))
        #expect(
            early.lost("lost").map { text(.end($0.kind, $0.outcome)) } == [
                "section refused shutdown", "section unknown lost",
            ])
    }

    @Test func `An error of the system in place of the commit leaves the outcome unknown`() {
        for (state, isCertain) in [
            ("23503", true), ("40001", true), ("P0001", true), ("XX000", false), ("58030", false),
        ] {
            var machine = machine(1)
            _ = machine.received(.result(1))
            _ = machine.received(.failed(PostgreSQLFailure(sqlState: SQLState(rawValue: state), message: "m")))
            let outcome = text(machine.received(.synchronized))
            #expect(outcome == (isCertain ? "section refused m" : "section unknown m (SQLSTATE \(state))"))
        }
    }

    @Test func `A doubtful commit is not done`() {
        var machine = machine(1, 1)
        _ = machine.received(.result(1))
        machine.doubted("not replicated")
        #expect(text(machine.received(.synchronized)) == "section unknown not replicated")
        _ = machine.received(.result(2))
        #expect(text(machine.received(.synchronized)) == "section done [2]")
    }

    @Test func `A failed preparation is the reason of the sections that need it`() {
        var machine = Machine()
        let time = MonotonicTime(nanoseconds: 1)
        machine.sent(.preparation(7), calls: 1, statements: [7], byteCount: 0, deadline: time)
        for _ in 0..<2 { machine.sent(.section, calls: 1, statements: [7], byteCount: 0, deadline: time) }
        #expect(machine.sectionCount == 2)
        let missing = PostgreSQLFailure(sqlState: .unknownTable, message: "no table")
        let unknown = PostgreSQLFailure(sqlState: .unknownStatement, message: "no statement")
        _ = machine.received(.failed(missing))
        #expect(text(machine.received(.synchronized)) == "preparation(7) refused no table")
        for _ in 0..<2 {
            _ = machine.received(.failed(unknown))
            #expect(text(machine.received(.synchronized)) == "section refused no table")
        }
        // A later preparation starts afresh.
        machine.sent(.preparation(7), calls: 1, statements: [7], byteCount: 0, deadline: time)
        machine.sent(.section, calls: 1, statements: [7], byteCount: 0, deadline: time)
        _ = machine.received(.result(1))
        _ = machine.received(.synchronized)
        _ = machine.received(.failed(unknown))
        #expect(text(machine.received(.synchronized)) == "section refused no statement")
    }

    @Test func `Answers that break the protocol end the connection`() {
        var machine = Machine()
        #expect(text(machine.received(.result(1))) == "disconnect")
        #expect(text(machine.received(.synchronized)) == "disconnect")
        machine = self.machine(1)
        #expect(text(machine.received(.synchronized)) == "disconnect")
        machine = self.machine(1)
        #expect(text(machine.received(.skipped)) == "disconnect")
        machine = self.machine(1)
        _ = machine.received(.result(1))
        #expect(text(machine.received(.result(2))) == "disconnect")
    }

    /// A server that answers at random, beside a model that knows what each section must become.
    @Test(arguments: 0..<50) func `Each section has one outcome, in order`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = Machine()
        var expected: [String] = []
        var outcomes: [String] = []
        var next = 0
        for _ in 0..<200 {
            let counts = (0..<Int.random(in: 1...4, using: &random)).map { _ in Int.random(in: 1...4, using: &random) }
            for count in counts {
                machine.sent(
                    .section, calls: count, statements: [], byteCount: count, deadline: MonotonicTime(nanoseconds: 1))
            }
            for count in counts {
                let failing = Bool.random(using: &random) ? Int.random(in: 0...count, using: &random) : count + 1
                var results: [Int] = []
                for call in 0..<count {
                    next += 1
                    if call < failing {
                        results.append(next)
                        outcomes.append(text(machine.received(.result(next))))
                    } else {
                        outcomes.append(
                            text(machine.received(call == failing ? .failed(Self.duplicate) : .skipped)))
                    }
                }
                if failing == count { outcomes.append(text(machine.received(.failed(Self.duplicate)))) }
                outcomes.append(text(machine.received(.synchronized)))
                expected.append(failing <= count ? "section refused duplicate" : "section done \(results)")
            }
        }
        #expect(outcomes.filter { $0 != "wait" } == expected)
        #expect(!machine.isWaiting && machine.byteCount == 0)
    }
}
