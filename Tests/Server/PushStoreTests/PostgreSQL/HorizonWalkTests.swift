import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// What waits in a part that is loaded, whatever was removed before.
@Suite(.waits) struct HorizonWalkTests {
    /// A ledger with one part, a clock that the test moves, and what is not completed.
    private struct Scene {
        let options: PostgreSQLOptions
        let clock: Locked<Int64>
        let passed = Locked<Int64>(0)
        var retention: LedgerRetention
        private(set) var ledger: PostgreSQLLedger
        private var waiting: Set<UInt64> = []
        private var newest = 0

        init(at start: Int64, _ retention: LedgerRetention) async throws {
            options = try await SharedPostgreSQL.shared.store(parts: 1, at: WallTime(milliseconds: start))
            clock = Locked(start)
            self.retention = retention
            (ledger, _) = try await Self.open(options, clock, passed, retention)
        }

        private static func open(
            _ options: PostgreSQLOptions, _ clock: Locked<Int64>, _ passed: Locked<Int64>, _ retention: LedgerRetention
        ) async throws -> (PostgreSQLLedger, LedgerBacklog) {
            var settings = SharedPostgreSQL.settings(options)
            settings.retention = retention
            settings.clock = { WallTime(milliseconds: clock.withLock { $0 }) }
            settings.steadyClock = { MonotonicTime(nanoseconds: passed.withLock { $0 } * 1_000_000) }
            return try await PostgreSQLLedger.openTakingAll(settings)
        }

        func advance(_ time: Int64) {
            passed.withLock { $0 += time }
            setClock(by: time)
        }

        func setClock(by time: Int64) { clock.withLock { $0 += time } }

        mutating func accept(_ count: Int) async {
            let ids = (newest..<newest + count).map { "m\($0)" }
            newest += count
            let answers = await withCheckedContinuation { continuation in
                ledger.accept(ids.map { push($0) }) { continuation.resume(returning: $0) }
            }
            #expect(answers.compactMap(\.seq).count == count)
            waiting.formUnion(answers.compactMap(\.seq))
        }

        /// Completes messages that wait, as far as they are chosen.
        mutating func complete(where isChosen: () -> Bool) async throws {
            for seq in waiting.sorted() where isChosen() {
                let messages = try await withCheckedContinuation { continuation in
                    ledger.load([seq]) { continuation.resume(returning: $0) }
                }.get()
                let message = try #require(messages.first, "message \(seq) is gone")
                var counts = message.counts
                counts.sent += 1
                ledger.record([], completed: [CompletedMessage(seq: seq, message: message.message, counts: counts)])
                waiting.remove(seq)
            }
            await ledger.flush()
        }

        /// Moves the horizon on, and drops what lies before it.
        func trim() async throws {
            ledger.keep(retention)
            for _ in 0..<2 {
                advance(61_000)
                ledger.trim()
                await ledger.flush()
            }
            // The ledger makes partitions meanwhile, whose locks a drop does not wait for.
            while (try? await StoreTables(ledger.call).removePartitions()) == nil { try Task.checkCancellation() }
        }

        mutating func reopen() async throws {
            await ledger.close()
            let backlog: LedgerBacklog
            (ledger, backlog) = try await Self.open(options, clock, passed, retention)
            let found = backlog.lanes.flatMap(\.seqs)
            #expect(Set(found) == waiting && found.count == waiting.count, "\(found.sorted()), \(waiting.sorted())")
        }

        func close() async { await ledger.close() }
    }

    private static let minute: Int64 = 60_000
    /// 2023-11-14, 19:00.
    private static let evening: Int64 = 1_699_988_400_000

    private static func retention(window: Int64, age: Int64) -> LedgerRetention {
        var retention = LedgerRetention()
        (retention.window, retention.logAge) = (.milliseconds(window), .milliseconds(age))
        return retention
    }

    @Test func `With a short window, what was completed in the evening does not wait again after midnight`()
        async throws
    {
        var scene = try await Scene(at: Self.evening, Self.retention(window: 60 * Self.minute, age: 60 * Self.minute))
        for _ in 0..<5 {
            await scene.accept(3)
            try await scene.complete { true }
            scene.advance(55 * Self.minute)
            try await scene.trim()
        }
        for _ in 0..<10 {
            scene.advance(40 * Self.minute)
            await scene.accept(1)
            try await scene.trim()
            try await scene.reopen()
        }
        await scene.close()
    }

    @Test(arguments: 0..<UInt64(RunKind.rounds(2, long: 60)))
    func `What was completed does not wait after a load, whatever is kept and whenever the part is loaded`(
        seed: UInt64
    ) async throws {
        var random = SeededRandom(seed: seed)
        func someTime() -> Int64 {
            [1, 10, 60, 180, 420, 900, 1500, 4000].randomElement(using: &random)! * Self.minute
        }
        var scene = try await Scene(at: Self.evening, Self.retention(window: someTime(), age: someTime()))
        for _ in 0..<RunKind.rounds(30, long: 200) {
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1: await scene.accept(Int.random(in: 1...3, using: &random))
            case 2: try await scene.complete { true }
            case 3: try await scene.complete { Bool.random(using: &random) }
            case 4: scene.advance(Int64.random(in: 1...90, using: &random) * Self.minute)
            case 5: scene.advance(Int64.random(in: 60...600, using: &random) * Self.minute)
            case 6: scene.setClock(by: Int64.random(in: -180...180, using: &random) * Self.minute)
            case 7: try await scene.reopen()
            default: try await scene.trim()
            }
        }
        try await scene.reopen()
        await scene.close()
    }
}
