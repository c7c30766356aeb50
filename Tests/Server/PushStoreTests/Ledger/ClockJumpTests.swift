import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// The wall clock may show anything for a while. What is remembered stays as it was written.
@Suite(.waits) struct ClockJumpTests {
    private static let day = Duration.seconds(86_400)
    private static let hour = Duration.seconds(3600)

    private func check(_ scene: LedgerScene, _ pushed: [(request: PushRequest, seq: UInt64)]) async throws {
        let page = try await scene.ledger.read(since: 0, limit: .max)
        let events = try page.segments.flatMap { try $0.events() }
        #expect(page.oldest == 1 && events.map(\.seq) == Array(1...page.newest))
        for (request, seq) in pushed {
            #expect(await scene.accept(request) == .duplicate(seq: seq), "\(request.message.id)")
        }
        for id in Set(pushed.map(\.request.message.id)) {
            let found = try await TraceSearch(log: scene.ledger).message(id, app: nil)
            #expect(found.isComplete && !found.lines.isEmpty, "\(id)")
        }
    }

    @Test func `The clock that other files age by does not jump`() async throws {
        try await withLedger { scene in
            let before = await scene.trim().agedAt
            #expect(before == WallTime(milliseconds: scene.time))
            scene.setClock(by: Self.day * 800)
            for _ in 0..<2 {
                #expect(await scene.trim().agedAt == before)
                try await scene.reopen()
                #expect(scene.ledger.latest.agedAt == before)
            }
        }
    }

    @Test(arguments: [Duration.seconds(50 * 60), .seconds(2 * 3600), .seconds(86_400), .seconds(1_700_000_000)])
    func `A clock that is set back leaves the log readable`(step: Duration) async throws {
        try await withLedger { scene in
            var pushed: [(request: PushRequest, seq: UInt64)] = []
            func accept(_ id: String) async throws {
                pushed.append((push(id), try #require(await scene.accept(push(id)).seq)))
            }
            for index in 0..<30 { try await accept("m\(index)") }
            await scene.trim()
            scene.setClock(by: .zero - step)
            try await accept("after")
            // Rows that stay ahead for more than a day get another date.
            for _ in 0..<4 {
                await scene.trim()
                try await check(scene, pushed)
                scene.advance(Self.hour * 9)
            }
            try await scene.reopen()
            await scene.trim()
            try await check(scene, pushed)
            // They expire in the usual time from then on.
            scene.retention.logAge = Self.day * 5
            scene.advance(Self.day * 2)
            #expect(await scene.trim().oldest == 1)
            scene.advance(Self.day * 4)
            _ = await scene.note([EventDraft(.connectionUp, app: nil)])
            #expect(await scene.trim().oldest > 30)
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `The times that were stored are known after a restart, also where the clock was set back`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let ahead = WallTime(milliseconds: scene.clock.withLock { $0 }) + .seconds(1200)
            #expect(scene.backlog.stored == StoredTimes())
            scene.setClock(by: .seconds(1200))
            _ = await scene.accept(push("a"))
            try await scene.reopen()
            #expect(scene.backlog.stored.latest == ahead && scene.backlog.stored.setBack == nil)
            scene.setClock(by: .seconds(-1200))
            let seq = await scene.accept(push("b")).seq
            for _ in 0..<2 {
                try await scene.reopen()
                #expect(scene.backlog.stored.latest == ahead && scene.backlog.stored.setBack == seq)
            }
        }
    }

    @Test(arguments: [false, true], LedgerKind.allCases)
    func `The age of data follows a jump ahead only after a day, also over a restart`(
        reopens: Bool, kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let start = WallTime(milliseconds: scene.time)
            #expect(await scene.ledger.age() == start)
            await scene.trim()
            scene.setClock(by: Self.hour * 13)
            if reopens { try await scene.reopen() }
            #expect(await scene.ledger.age() == start)
            scene.advance(Self.hour)
            #expect(await scene.ledger.age() == start + Self.hour)
            scene.advance(Self.hour * 24)
            #expect(await scene.ledger.age() == WallTime(milliseconds: scene.time))
        }
    }

    /// The clock is right again within a day each time, and less than the window passes.
    @Test(arguments: 0..<UInt64(RunKind.rounds(2, long: 12)))
    func `Any jump of the clock leaves what is remembered`(seed: UInt64) async throws {
        try await withLedger { scene in
            var random = SeededRandom(seed: seed)
            var pushed: [(request: PushRequest, seq: UInt64)] = []
            var offset = Duration.zero
            func move(to other: Duration) {
                scene.setClock(by: other - offset)
                offset = other
            }
            for step in 0..<20 {
                let request = push("m\(step)", to: [step])
                pushed.append((request, try #require(await scene.accept(request).seq)))
                if Bool.random(using: &random) { scene.carryOut(scene.listener.messages.last!) }
                switch Int.random(in: 0..<6, using: &random) {
                case 0: move(to: .zero)
                case 1: move(to: .seconds(Int64.random(in: -1_700_000_000...1_700_000_000, using: &random)))
                case 2: move(to: .seconds(Int64.random(in: -200_000...200_000, using: &random)))
                case 3: try await scene.reopen()
                default: break
                }
                await scene.trim()
                scene.advance(.seconds(Int64.random(in: 0...600, using: &random)))
                if step % 5 == 4 {
                    move(to: .zero)
                    await scene.trim()
                    scene.advance(Self.hour * 13)
                    await scene.trim()
                }
            }
            move(to: .zero)
            for _ in 0..<6 {
                scene.advance(Self.hour * 9)
                await scene.trim()
            }
            try await check(scene, pushed)
            try await scene.reopen()
            try await check(scene, pushed)
        }
    }

    @Test func `Rows are dated when they have been ahead for a day without a break`() {
        var rows = RowsAhead()
        let (now, hour) = (WallTime(milliseconds: 1_700_000_000_000), Int64(3_600_000))
        func steady(_ hours: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: hours * hour * 1_000_000) }
        let (ahead, near) = (now.adding(milliseconds: 2 * hour), now.adding(milliseconds: hour))
        let seen = [(ahead, 0), (ahead, 20), (near, 40), (ahead, 60), (ahead, 83), (ahead, 84)].map { time, hours in
            rows.mustBeDated(time, at: now, steady: steady(hours))
        }
        #expect(seen == [false, false, false, false, false, true])
    }
}
