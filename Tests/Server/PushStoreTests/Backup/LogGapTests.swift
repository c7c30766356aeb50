import PushModel
import PushTime
import TestTraits
import Testing

@testable import PushStore

/// The numbers of a ledger that was restored from a backup.
@Suite(.waits) struct LogGapTests {
    private static let stride: UInt64 = 1_000_000_000

    /// Calls `body` with a ledger that had messages, was restored, and had more.
    private func restored(
        _ count: Int = 20, _ body: (LedgerScene, _ before: UInt64, _ gap: ClosedRange<UInt64>) async throws -> Void
    ) async throws {
        try await withLedger { scene in
            for index in 0..<count { _ = await scene.accept(push("m\(index)", to: [index])) }
            let before = await scene.settled().newest
            await scene.ledger.close()
            let now = WallTime(milliseconds: scene.time)
            let restored = RestoredLedger(in: scene.folder, clock: { now })
            let summary = try await restored.prepare(
                madeAt: WallTime(milliseconds: scene.time), known: nil, waiting: .send)
            #expect(summary.waiting == count)
            try await scene.reopenOnly()
            try await body(scene, before, summary.gap)
        }
    }

    @Test func `Numbers go on behind the gap, and each topic names its end`() async throws {
        try await restored { scene, before, gap in
            #expect(gap == (before + 1)...(2 * Self.stride))
            #expect(await scene.settled().newest == gap.upperBound)
            let seq = try #require(await scene.accept(push("new")).seq)
            #expect(seq == gap.upperBound + 1)
            let event = try #require(try scene.listener.segments.flatMap { try $0.events() }.first { $0.seq == seq })
            #expect(event.prev == gap.upperBound)
            #expect(await scene.accept(push("m3", to: [3])) == .duplicate(seq: 4))
            let next = try #require(await scene.accept(push("newer")).seq)
            // The duplicate is an event, too.
            #expect(next == seq + 2)
            try await scene.reopen()
            #expect(await scene.accept(push("newer")) == .duplicate(seq: next))
            #expect(try #require(await scene.accept(push("newest")).seq) == next + 2)
        }
    }

    @Test func `A reader that must notice the gap does, wherever it is`() async throws {
        try await restored { scene, before, gap in
            // Without events behind it.
            var page = try await scene.ledger.read(since: before, limit: 100).divided(after: before)
            #expect(page.segments.isEmpty && page.oldest == gap.upperBound + 1 && page.newest == gap.upperBound)
            let seq = try #require(await scene.accept(push("new")).seq)
            for since in [before, before + 1, gap.upperBound - 1] {
                page = try await scene.ledger.read(since: since, limit: 100)
                #expect(page.gap(at: since) == gap)
                page = page.divided(after: since)
                #expect(page.oldest == seq && page.newest >= seq && page.segments.first?.first == seq)
            }
            page = try await scene.ledger.read(since: before - 3, limit: 100).divided(after: before - 3)
            #expect(page.oldest == 1 && page.newest == before && page.segments.last?.last == before)
            page = try await scene.ledger.read(since: gap.upperBound, limit: 100).divided(after: gap.upperBound)
            #expect(page.oldest == 1 && page.segments.first?.first == seq)
            // Those that look for something read through it.
            page = try await scene.ledger.read(since: before - 3, limit: 100)
            #expect(page.segments.last?.first == seq)
        }
    }

    @Test func `A walk to the beginning does not count through the gap`() async throws {
        try await restored(300) { scene, before, gap in
            for index in 0..<300 { _ = await scene.accept(push("n\(index)", to: [index])) }
            var backwards = LogBackwards(scene.ledger, stretch: 50)
            var found: [UInt64] = []
            var steps = 0
            while let segments = try await backwards.next() {
                steps += 1
                for segment in segments {
                    found += try segment.events().map(\.seq).filter { $0 > backwards.low && $0 <= backwards.high }
                }
                try #require(steps < 100)
            }
            let new = (1...300).map { gap.upperBound + $0 }
            #expect(found.sorted() == Array(1...before) + new)
            let last = try await EventReader(log: scene.ledger).last(1000, prefix: "message/")
            #expect(last.lines.count == 600)
            let forward = try await EventReader(log: scene.ledger).forward(since: 0, prefix: "", limit: 1000)
            #expect(forward.lines.count == 300 && forward.hasMore && forward.next[0] == before)
            let rest = try await EventReader(log: scene.ledger).forward(since: before, prefix: "", limit: 1000)
            #expect(rest.lines.count == 300 && rest.gaps(since: LogPosition(after: before)).count == 1)
        }
    }

    @Test func `Two restores without an event between them are one gap`() async throws {
        try await restored { scene, before, gap in
            let now = WallTime(milliseconds: scene.time)
            await scene.ledger.close()
            let again = try await RestoredLedger(in: scene.folder, clock: { now })
                .prepare(
                    madeAt: WallTime(milliseconds: scene.time), known: nil, waiting: .send)
            #expect(again.gap.lowerBound == gap.upperBound + 1)
            try await scene.reopenOnly()
            let page = try await scene.ledger.read(since: before, limit: 10)
            #expect(page.gaps == [(before + 1)...again.gap.upperBound])
            #expect(try #require(await scene.accept(push("new")).seq) == again.gap.upperBound + 1)
        }
    }

    @Test func `A restore is announced until its event is on disk`() async throws {
        try await restored { scene, before, gap in
            let mark = RestoredLog(
                madeAt: WallTime(milliseconds: 1_700_000_000_000), newest: before, next: gap.upperBound + 1)
            #expect(scene.backlog.restored?.newest == mark.newest && scene.backlog.restored?.next == mark.next)
            // A start that was killed before its first commit, and one that committed something else.
            try await scene.reopen()
            #expect(scene.backlog.restored?.next == mark.next)
            _ = await scene.accept(push("new"))
            try await scene.reopen()
            let restored = try #require(scene.backlog.restored)
            scene.ledger.note([restored.event], done: nil)
            await scene.ledger.flush()
            let event = try #require(try scene.listener.segments.flatMap { try $0.events() }.last)
            #expect(event.topic == "ledger/-/restored")
            let members =
                "\"backup_at\":\(restored.madeAt.milliseconds),\"lost_after\":\(before),"
                + "\"continues_at\":\(gap.upperBound + 1)"
            #expect(event.details?.contains(members) == true, "\(event)")
            try await scene.reopen()
            #expect(scene.backlog.restored == nil)
            // Another restore is another event.
            let newest = await scene.settled().newest
            await scene.ledger.close()
            let now = WallTime(milliseconds: scene.time)
            _ = try await RestoredLedger(in: scene.folder, clock: { now })
                .prepare(madeAt: now, known: nil, waiting: .send)
            try await scene.reopenOnly()
            #expect(scene.backlog.restored?.newest == newest && scene.backlog.restored?.madeAt == now)
        }
    }

    @Test func `A registry that was behind reads the events on both sides of the gap`() async throws {
        try await restored { scene, before, gap in
            let registry = try await SQLiteRegistry.open(
                directory: scene.folder, identities: scene.identities, note: { _ in nil })
            _ = await scene.accept(push("new"))
            #expect(try await registry.catchUp(from: scene.ledger))
            #expect(registry.status.applied >= gap.upperBound + 1)
            await registry.close()
        }
    }

    @Test func `The gap is larger than what a process can have assigned`() throws {
        let day = Duration.seconds(86_400)
        #expect(try LogGap.after(5, known: 0, elapsed: .zero) == 6...(2 * Self.stride))
        #expect(try LogGap.after(5, known: 0, elapsed: .seconds(-9)).upperBound == 2 * Self.stride)
        let daily = try LogGap.after(5, known: 0, elapsed: day)
        #expect(daily.upperBound >= 86_400_000_000 && daily.upperBound % Self.stride == 0)
        #expect(try LogGap.after(5, known: 0, elapsed: day * 3650).upperBound == 1001 * Self.stride)
        #expect(try LogGap.after(5, known: 7 * Self.stride, elapsed: .zero).upperBound == 8 * Self.stride)
        // A number that a damaged file claims does not use up the rest.
        #expect(try LogGap.after(5, known: .max, elapsed: .zero).upperBound == 2 * Self.stride)
        #expect(throws: StoreError.self) { try LogGap.after(35_184_000_000_000, known: 0, elapsed: .zero) }
    }

    @Test(arguments: [
        "INSERT INTO gaps VALUES (5, 4, 0)", "INSERT INTO gaps VALUES (-1, 9, 0)",
        "INSERT INTO gaps VALUES (7, 9223372036854775807, 0)",
        "INSERT INTO gaps VALUES (7, 99, 0), (50, 120, 0)", "INSERT INTO gaps VALUES (0, 0, 0)",
    ])
    func `An invalid gap is damage, and ends no process`(change: String) async throws {
        try await withLedger { scene in
            await scene.ledger.close()
            try SQLiteConnection(scene.path).run(change)
            let error = await #expect(throws: StoreError.self) { try await scene.reopenOnly() }
            #expect(error?.code == .damaged)
            // The scene closes its ledger at the end.
            try SQLiteConnection(scene.path).run("DELETE FROM gaps")
            try await scene.reopenOnly()
        }
    }
}
