import PushLogic
import PushLoop
import PushModel
import PushPipeline
import TestSupport
import Testing

/// Messages of families whose users get them in an app that comes first.
@Suite struct PreferredTests {
    private let preferred = [PreferredApp(AppID("first")!, kind: .alert)]

    @Test func `Devices of users that another app reaches are counted, and have no outcome of their own`() async {
        let world = RouterWorld()
        world.registry.count.withLock { $0 = 2500 }
        world.registry.outranked.withLock { $0 = Set(0..<1200) }
        await world.open(credit: 500)
        world.router.accepted([
            world.message(1, to: .everyone, preferred: preferred), world.message(2, to: .users(["ada"])),
        ])
        await world.finish()
        let completed = world.ledger.state.withLock { $0.completed }.sorted { $0.seq < $1.seq }
        #expect(completed.map(\.counts.sent) == [1300, 2500])
        #expect(completed.map(\.counts.suppressed) == [1200, 0])
        #expect(completed.map(\.counts.preferred) == [1200, 0])
        #expect(world.ledger.state.withLock { $0.recordCount } == 3800)
        // One question for each page of the first message, and none for the other.
        let questions = world.registry.questions.withLock { $0 }
        #expect(questions.reduce(0) { $0 + $1.count } == 2500 && questions.count < 10)
        #expect(questions.allSatisfy { $0.preferred == preferred })
        await world.loop.shutDown()
    }

    @Test func `If another app reaches all, the message is complete without a delivery`() async {
        let world = RouterWorld()
        world.registry.count.withLock { $0 = 40 }
        world.registry.outranked.withLock { $0 = Set(0..<40) }
        await world.open(credit: 500)
        world.router.accepted([world.message(1, to: .everyone, preferred: preferred)])
        await world.finish()
        let completed = world.ledger.state.withLock { $0.completed }
        #expect(completed.map(\.counts.suppressed) == [40] && completed.map(\.counts.sent) == [0])
        #expect(completed.map(\.isExpired) == [false])
        await world.loop.shutDown()
    }

    /// After a restart the search begins anew, and what has an outcome is known by its claim.
    @Test func `After a restart the same devices are counted, once`() async {
        let world = RouterWorld()
        world.registry.count.withLock { $0 = 40 }
        world.registry.outranked.withLock { $0 = Set(0..<10) }
        world.ledger.state.withLock { $0.verdict = { _, _ in .done } }
        await world.open(credit: 500)
        var counts = OutcomeCounts()
        counts.sent = 30
        world.router.accepted([world.message(1, to: .everyone, counts: counts, preferred: preferred)])
        await world.finish()
        let completed = world.ledger.state.withLock { $0.completed }
        #expect(completed.map(\.counts.sent) == [30] && completed.map(\.counts.suppressed) == [10])
        await world.loop.shutDown()
    }
}
