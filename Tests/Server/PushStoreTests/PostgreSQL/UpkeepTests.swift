import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// The removal of partitions of tables, by a clock that the test moves.
@Suite(.waits) struct UpkeepTests {
    private struct Scene {
        let options: PostgreSQLOptions
        let clock: Locked<Int64>
        let passed = Locked<Int64>(0)
        let admin: TestSessions

        init(parts: Int) async throws {
            let start: Int64 = 1_700_000_000_000
            options = try await SharedPostgreSQL.shared.store(parts: parts, at: WallTime(milliseconds: start))
            clock = Locked(start)
            admin = try await TestSessions.one(to: options.database)
        }

        func open() async throws -> (PostgreSQLLedger, LedgerBacklog) {
            var settings = SharedPostgreSQL.settings(options)
            settings.clock = { [clock] in WallTime(milliseconds: clock.withLock { $0 }) }
            settings.steadyClock = { [passed] in MonotonicTime(nanoseconds: passed.withLock { $0 } * 1_000_000) }
            return try await PostgreSQLLedger.openTakingAll(settings)
        }

        func advance(_ duration: Duration) {
            passed.withLock { $0 += duration.wholeMilliseconds }
            setClock(by: duration)
        }

        /// Sets the clock without letting time pass.
        func setClock(by duration: Duration) { clock.withLock { $0 += duration.wholeMilliseconds } }

        var hour: Int64 { clock.withLock { $0 } / 3_600_000 }
        var day: Int64 { clock.withLock { $0 } / 86_400_000 }

        func hasTable(_ name: String) async throws -> Bool {
            try await admin.count("SELECT count(*) FROM pg_class WHERE relname = '\(name)'") > 0
        }

        /// Calls `trim` as the clock advances, until a table is gone.
        func trim(_ ledger: PostgreSQLLedger, untilGone name: String) async throws {
            while try await hasTable(name) {
                try Task.checkCancellation()
                advance(.seconds(61))
                ledger.trim()
                await ledger.flush()
            }
        }
    }

    @Test func `The clock of the database is read before the ledger uses the time`() async throws {
        let scene = try await Scene(parts: 1)
        let readings = EventRecorder<String>()
        var settings = SharedPostgreSQL.settings(scene.options)
        let before = WallTime.current()
        settings.clockRead = { reading in
            // Both clocks are that of this machine.
            let isRight = reading.time >= before && reading.time <= .current() && reading.taken <= .sinceBoot()
            readings.record(isRight ? "read" : "read \(reading)")
        }
        settings.clock = { [clock = scene.clock] in
            readings.record("used")
            return WallTime(milliseconds: clock.withLock { $0 })
        }
        let (ledger, _) = try await PostgreSQLLedger.open(settings)
        await ledger.close(within: .zero)
        await scene.admin.close()
        #expect(readings.events.first == "read")
        #expect(readings.events.dropFirst().first == "used")
    }

    @Test func `Old hours go, and messages that wait in them stay`() async throws {
        let scene = try await Scene(parts: 4)
        var (ledger, _) = try await scene.open()
        let first = scene.hour
        let accepted = await withCheckedContinuation { continuation in
            ledger.accept((0..<100).map { push("m\($0)") }) { continuation.resume(returning: $0) }
        }
        let seqs = accepted.compactMap(\.seq)
        #expect(seqs.count == 100)
        let rows = try await scene.admin.count("SELECT count(*) FROM carillon.bodies")
        scene.advance(.seconds(8 * 3600))
        try await scene.trim(ledger, untilGone: "bodies_\(first)")
        #expect(try await scene.hasTable("bodies_\(scene.hour + 3)"))
        // Each row has one copy, in a partition that is kept.
        #expect(try await scene.admin.count("SELECT count(*) FROM carillon.bodies") == rows)
        for isReopened in [false, true] {
            if isReopened {
                await ledger.close()
                let backlog: LedgerBacklog
                (ledger, backlog) = try await scene.open()
                #expect(backlog.lanes.flatMap(\.seqs).sorted() == seqs.sorted())
            }
            var loaded: [UInt64] = []
            while loaded.count < seqs.count {
                let rest = seqs.sorted().filter { !loaded.contains($0) }
                let messages = try await withCheckedContinuation { continuation in
                    ledger.load(rest) { continuation.resume(returning: $0) }
                }.get()
                try #require(!messages.isEmpty)
                loaded += messages.map(\.seq)
            }
        }
        await ledger.close()
        await scene.admin.close()
    }

    @Test func `Old days go when neither the log nor the window needs them`() async throws {
        let scene = try await Scene(parts: 1)
        let (ledger, _) = try await scene.open()
        let first = scene.day
        func accept(_ id: String) async -> Acceptance? {
            await withCheckedContinuation { continuation in
                ledger.accept([push(id)]) { continuation.resume(returning: $0.first) }
            }
        }
        func carryOut(_ seq: UInt64) async throws {
            let messages = try await withCheckedContinuation { continuation in
                ledger.load([seq]) { continuation.resume(returning: $0) }
            }.get()
            let message = try #require(messages.first)
            var counts = message.counts
            counts.sent += 1
            ledger.record(
                [], completed: [CompletedMessage(seq: seq, message: message.message, counts: counts)])
            await ledger.flush()
        }
        #expect(await accept("waiting") == .accepted(seq: 1))
        #expect(await accept("done") == .accepted(seq: 2))
        try await carryOut(2)
        scene.advance(.seconds(9 * 86_400))
        #expect(await accept("new")?.seq == 4)
        // The key of the waiting message is needed, so its day stays.
        for _ in 0..<3 {
            scene.advance(.seconds(61))
            ledger.trim()
            await ledger.flush()
        }
        #expect(try await scene.hasTable("groups_\(first)"))
        #expect(await ledger.status().oldest == 1)
        try await carryOut(1)
        try await scene.trim(ledger, untilGone: "groups_\(first)")
        while await ledger.status().oldest == 1 {
            scene.advance(.seconds(61))
            ledger.trim()
            await ledger.flush()
        }
        #expect(await ledger.status().oldest == 4)
        let page = try await ledger.read(since: 0, limit: 100)
        #expect(page.oldest == 4 && page.segments.first?.first == 4)
        #expect(await accept("new") == .duplicate(seq: 4))
        await ledger.close()
        await scene.admin.close()
    }

    @Test func `The last group of an idle part stays, and its numbers go on`() async throws {
        let scene = try await Scene(parts: 1)
        var (ledger, _) = try await scene.open()
        ledger.note([EventDraft(.connectionDown, app: LedgerScene.shop)], done: nil)
        await ledger.flush()
        scene.advance(.seconds(20 * 86_400))
        for _ in 0..<3 {
            scene.advance(.seconds(61))
            ledger.trim()
            await ledger.flush()
        }
        await ledger.close()
        (ledger, _) = try await scene.open()
        let number = await withCheckedContinuation { continuation in
            ledger.note([EventDraft(.connectionUp, app: LedgerScene.shop)]) { continuation.resume(returning: $0) }
        }
        #expect(number == 2)
        await ledger.close()
        await scene.admin.close()
    }

    @Test func `A reader that keeps a table does not stop writers`() async throws {
        let scene = try await Scene(parts: 1)
        let (ledger, _) = try await scene.open()
        let first = scene.hour
        let reader = try await TestSessions.one(to: scene.options.database)
        let reading = Task {
            try await reader.call.run("SELECT count(*) FROM carillon.bodies, pg_sleep(3600)")
        }
        while try await scene.admin.count(
            "SELECT count(*) FROM pg_locks WHERE relation = 'carillon.bodies'::regclass AND granted") == 0
        {}
        scene.advance(.seconds(8 * 3600))
        for index in 0..<20 {
            scene.advance(.seconds(61))
            ledger.trim()
            let answer = await withCheckedContinuation { continuation in
                ledger.accept([push("m\(index)")]) { continuation.resume(returning: $0.first) }
            }
            #expect(answer?.seq != nil)
            await ledger.flush()
        }
        #expect(try await scene.hasTable("bodies_\(first)"))
        _ = try await scene.admin.call.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3600)%' "
                + "AND pid <> pg_backend_pid()")
        _ = try? await reading.value
        try await scene.trim(ledger, untilGone: "bodies_\(first)")
        await reader.close()
        await ledger.close()
        await scene.admin.close()
    }

    @Test func `Nothing is written before the horizon when the clock goes back`() async throws {
        let scene = try await Scene(parts: 1)
        var (ledger, _) = try await scene.open()
        let first = scene.hour
        scene.advance(.seconds(8 * 3600))
        try await scene.trim(ledger, untilGone: "bodies_\(first)")
        await ledger.close()
        scene.setClock(by: .seconds(-8 * 3600))
        (ledger, _) = try await scene.open()
        let answer = await withCheckedContinuation { continuation in
            ledger.accept([push("a")]) { continuation.resume(returning: $0.first) }
        }
        #expect(answer == .accepted(seq: 1))
        let horizon = try await scene.admin.count("SELECT min(hour)::bigint FROM carillon.horizons")
        #expect(try await scene.admin.count("SELECT min(hour)::bigint FROM carillon.bodies") >= horizon)
        await ledger.close()
        await scene.admin.close()
    }
}
