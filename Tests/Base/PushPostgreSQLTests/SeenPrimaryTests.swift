import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushPostgreSQL

/// What the sessions of one process know together about their primary.
@Suite(.waits) struct SeenPrimaryTests {
    private static func server(_ timeline: Int64, system: Int64 = 7) -> ServerInfo {
        ServerInfo(
            target: PostgreSQLTarget(host: PostgreSQLHost(name: "db1"), address: "10.0.0.1"), version: 150_018,
            systemIdentifier: system, timeline: timeline, synchronousStandbys: "a", clockOffset: .zero,
            roundTrip: .zero)
    }

    @Test func `A server of an earlier timeline, and one of another system, are refused`() {
        let seen = SeenPrimary()
        #expect(seen.fault(of: Self.server(2)) == nil)
        #expect(seen.fault(of: Self.server(2)) == nil)
        #expect(seen.fault(of: Self.server(1))?.contains("timeline 1, and timeline 2 was seen before") == true)
        #expect(seen.fault(of: Self.server(3)) == nil)
        #expect(seen.fault(of: Self.server(2)) != nil)
        let other = seen.fault(of: Self.server(9, system: 8))
        #expect(other?.contains("the database system 8, and this process uses 7") == true)
        #expect(seen.fault(of: Self.server(3)) == nil)
    }

    @Test func `The cluster decides which database is used, and an earlier timeline of it is refused`() {
        let seen = SeenPrimary()
        #expect(seen.fault(of: Self.server(5)) == nil)
        #expect(seen.fault(of: Self.server(4), cluster: 1) != nil)
        #expect(seen.fault(of: Self.server(5), cluster: 1) == nil)
        // The database was restored from a backup.
        #expect(seen.fault(of: Self.server(4), cluster: 2) == nil)
        #expect(seen.fault(of: Self.server(4)) == nil && seen.fault(of: Self.server(3)) != nil)
        #expect(seen.fault(of: Self.server(1, system: 8), cluster: 3) == nil)
        #expect(seen.fault(of: Self.server(4)) != nil && seen.fault(of: Self.server(1, system: 8)) == nil)
    }

    @Test func `What an earlier process has seen counts for its database only`() {
        let seen = SeenPrimary()
        #expect(seen.fault(of: Self.server(1), cluster: 1) == nil)
        seen.saw(system: 7, timeline: 3, cluster: 2)
        seen.saw(system: 8, timeline: 3, cluster: 1)
        #expect(seen.fault(of: Self.server(1)) == nil)
        seen.saw(system: 7, timeline: 3, cluster: 1)
        #expect(seen.fault(of: Self.server(2)) != nil && seen.fault(of: Self.server(3)) == nil)
        seen.saw(system: 7, timeline: 2, cluster: 1)
        #expect(seen.fault(of: Self.server(2)) != nil)
    }

    @Test func `Those that watch are notified of a change, and of nothing else`() async {
        let (seen, loop) = (SeenPrimary(), EventLoop(name: "seen"))
        let changes = EventRecorder<Int>()
        let watches = await loop.run {
            (1...2).map { number in seen.watch(on: loop) { changes.record(number) } }
        }
        for timeline in [1, 1, 2, 1, 2] as [Int64] { _ = seen.fault(of: Self.server(timeline)) }
        #expect(await changes.wait(count: 2).sorted() == [1, 2])
        seen.endWatch(watches[0])
        _ = seen.fault(of: Self.server(4))
        #expect(await changes.wait(count: 3).last == 2)
        await loop.shutDown()
        _ = seen.fault(of: Self.server(5))
        #expect(changes.events.count == 3)
    }

    @Test func `A session whose statements succeed leaves a primary that was replaced`() async throws {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby(isSynchronous: false)
        let seen = SeenPrimary()
        let both = primary.url(with: [standby])
        let session = try await TestSession(both, durability: .single, primary: seen)
        let alone = try await TestSession(both, durability: .single)
        #expect(try await session.up().timeline == 1)
        #expect(try await alone.up().timeline == 1)
        try await standby.promote()
        #expect(try await session.run("SELECT 1").results().count == 1)
        let other = try await TestSession(standby.url(), durability: .single, primary: seen)
        #expect(try await other.up().timeline == 2)
        #expect(try await session.up(after: 1).timeline == 2)
        #expect(session.changes.events.dropFirst().first?.reason?.contains("a primary that was replaced") == true)
        // The old primary answers to those that do not know it.
        #expect(try await alone.run("SELECT 1").results().count == 1)
        let late = try await TestSession(both, durability: .single, primary: seen)
        #expect(try await late.up().timeline == 2)
        for ended in [session, alone, other, late] { await ended.stop() }
    }
}
