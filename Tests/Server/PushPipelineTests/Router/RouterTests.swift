import PushLogic
import PushLoop
import PushModel
import PushPipeline
import TestSupport
import Testing

/// Tests of the router on a real loop, with a ledger, a registry and gates that reply.
@Suite struct RouterTests {
    private let refusal = Refusal(status: 503, reason: nil)

    @Test func `From accept to completed, through claims and pages`() async {
        let world = RouterWorld()
        world.registry.count.withLock { $0 = 2500 }
        await world.open(credit: 500)
        world.router.accepted([
            world.single(1), world.message(2, to: .tokens((0..<40).map { RouterWorld.token($0) })),
            world.message(3, to: .everyone),
        ])
        await world.finish()
        let completed = world.ledger.state.withLock { $0.completed }
        #expect(completed.map(\.seq).sorted() == [1, 2, 3])
        #expect(completed.map(\.counts.sent).sorted() == [1, 40, 2500])
        #expect(world.ledger.state.withLock { $0.recordCount } == 2541)
        #expect(world.registry.pages.withLock { $0 } == 3)
        #expect(world.router.unfinished == 0)
        await world.loop.shutDown()
    }

    /// The test counts the deliveries before it, and measures no time.
    @Test(arguments: [0, 10_000]) func `A message to one device overtakes a broadcast of its own priority`(
        _ singlesBehind: Int
    ) async {
        let world = RouterWorld()
        world.registry.count.withLock { $0 = 1_000_000 }
        await world.open(credit: 200)
        world.router.accepted([world.message(1, to: .everyone)])
        await world.settle()
        world.router.report(world.gate.report(credit: 200))
        await world.settle()
        let before = world.gate.state.withLock { $0.order.count }
        #expect(before == 400)
        world.router.accepted([world.single(2)])
        if singlesBehind > 0 { world.router.accepted((0..<UInt64(singlesBehind)).map { world.single(3 + $0) }) }
        await world.settle()
        world.router.report(world.gate.report(credit: 200))
        await world.settle()
        let order = world.gate.state.withLock { $0.order }
        let id = MessageID("m2")!
        let place = order.firstIndex(of: id) ?? .max
        #expect(place == before, "\(place - before) deliveries were sent before it")
        // The broadcast continues with its share of a quarter.
        for _ in 0..<10 {
            world.router.report(world.gate.report(credit: 200))
            await world.settle()
        }
        let after = world.gate.state.withLock { $0.order.dropFirst(before) }
        let broadcast = MessageID("m1")!
        let share = after.count { $0 == broadcast }
        #expect(share * 10 > after.count * 2)
        if singlesBehind > 0 { #expect(share * 4 <= after.count) }
        await world.loop.shutDown()
    }

    @Test func `Priorities go in their order, and the last of them is not forgotten`() async {
        let world = RouterWorld()
        await world.open(credit: 0)
        world.router.accepted((0..<400).map { world.single(10_000 + $0, priority: .one) })
        world.router.accepted((0..<400).map { world.single(20_000 + $0, priority: .five) })
        world.router.accepted((0..<4000).map { world.single(30_000 + $0, priority: .ten) })
        await world.settle()
        world.router.report(world.gate.report(credit: 3200))
        await world.settle()
        let order = world.gate.waiting
        #expect(order.first?.message.priority == .ten)
        #expect((150...200).contains(order.count { $0.message.priority == .five }))
        #expect((150...200).contains(order.count { $0.message.priority == .one }))
        await world.loop.shutDown()
    }

    @Test func `One app's broadcast does not keep another app waiting`() async {
        let world = RouterWorld()
        world.registry.count.withLock { $0 = 100_000 }
        let bank = AppID("bank")!
        let other = FakeGate(bank)
        await world.open(credit: 40_000)
        world.router.appChanged(bank, gate: other)
        world.router.report(other.report(credit: 10))
        world.router.accepted([world.message(1, to: .everyone)])
        await world.settle()
        world.router.accepted([world.message(2, app: bank, to: .tokens([RouterWorld.token(1)]))])
        await world.settle()
        #expect(other.waiting.count == 1)
        await world.loop.shutDown()
    }

    @Test func `Scheduled messages are fetched when they are due, as many as there is room for`() async {
        var limits = PipelineLimits()
        limits.loadedMessages = 20
        let world = RouterWorld(limits)
        await world.open(credit: 0)
        let later = (0..<100).map { number in
            world.message(
                1 + UInt64(number), to: .tokens([RouterWorld.token(number)]),
                notBefore: RouterWorld.begin + 30 + Int64(number / 50))
        }
        world.ledger.state.withLock { state in
            state.scheduled = later
            for message in later { state.messages[message.seq] = message }
        }
        world.router.accepted(later)
        await world.settle()
        #expect(world.router.unfinished == 0)
        await world.pass(29)
        #expect(world.ledger.state.withLock { $0.dues } == 0)
        for _ in 0..<40 { await world.pass(1) }
        let loaded = await world.router.status().loaded
        #expect(loaded <= 20)
        for _ in 0..<100 where world.ledger.state.withLock({ $0.completedCount }) < 100 {
            await world.finish()
            await world.pass(1)
        }
        #expect(world.ledger.state.withLock { Set($0.completed.map(\.seq)).count } == 100)
        #expect(world.ledger.state.withLock { $0.completedCount } == 100)
        await world.loop.shutDown()
    }

    @Test func `A retry goes out again when the loop's clock says so`() async {
        let world = RouterWorld()
        await world.open(credit: 10)
        world.router.accepted([world.single(1)])
        await world.settle()
        let first = world.gate.waiting
        world.router.report(world.gate.report(1, .retry(refusal, after: .seconds(20)), credit: 10))
        await world.pass(19)
        #expect(world.gate.waiting.isEmpty)
        await world.pass(1)
        #expect(world.gate.waiting.map(\.deliveryID) == first.map(\.deliveryID))
        await world.finish()
        #expect(world.ledger.state.withLock { $0.records.compactMap(\.outcome.final) } == [.sent])
        await world.loop.shutDown()
    }

    @Test func `After a restart the rest is sent, and what had ended stays counted once`() async {
        let world = RouterWorld()
        var counts = OutcomeCounts()
        counts.sent = 60
        let half = world.message(5, to: .tokens((0..<100).map { RouterWorld.token($0) }), counts: counts)
        world.ledger.state.withLock { state in
            state.messages[5] = half
            state.messages[6] = world.single(6)
            let app = world.shop
            let ended = Set((0..<60).map { RouterWorld.identities.device(of: app, token: RouterWorld.token($0)) })
            state.verdict = { page, device in page.seq == 5 && ended.contains(device) ? .done : .new }
        }
        world.router.backlog(
            LedgerBacklog(lanes: [
                (Lane(app: world.shop, priority: .ten, isBroad: true), [5]),
                (Lane(app: world.shop, priority: .ten, isBroad: false), [6, 7]),
            ]))
        await world.settle()
        #expect(world.router.unfinished == 3)
        await world.open(credit: 1000)
        #expect(world.gate.waiting.count == 41)
        await world.finish()
        #expect(world.ledger.state.withLock { $0.completed.map(\.counts.sent).sorted() } == [1, 100])
        // Message 7 was complete, although the backlog still listed it.
        #expect(world.router.unfinished == 0)
        await world.loop.shutDown()
    }

    @Test func `Claims, loads and pages that fail come again`() async {
        let world = RouterWorld()
        world.registry.count.withLock { $0 = 10 }
        world.registry.failing.withLock { $0 = 2 }
        world.ledger.state.withLock {
            $0.failingClaims = 2
            $0.failingLoads = 2
            $0.messages[2] = world.single(2)
            // Message 3 follows message 2, of which only the number is in memory. So of message 3 only the number is
            // kept too.
            $0.messages[3] = world.message(3, to: .tokens([RouterWorld.token(1), RouterWorld.token(2)]))
        }
        world.router.backlog(LedgerBacklog(lanes: [(Lane(app: world.shop, priority: .ten, isBroad: false), [2])]))
        await world.open(credit: 100)
        world.router.accepted([
            world.message(1, to: .everyone),
            world.message(3, to: .tokens([RouterWorld.token(1), RouterWorld.token(2)])),
        ])
        await world.settle()
        let troubles = await world.router.troubles
        #expect(troubles.everywhere.count == 2)
        for _ in 0..<40 { await world.pass(1) }
        await world.finish()
        #expect(world.ledger.state.withLock { $0.completed.map(\.counts.sent).sorted() } == [1, 2, 10])
        let after = await world.router.troubles
        #expect(after == RouterTroubles())
        await world.loop.shutDown()
    }

    @Test func `An app that goes keeps its messages, and has them sent when it is back`() async {
        let world = RouterWorld()
        await world.open(credit: 3)
        world.router.accepted((1...10).map { world.single($0) })
        world.ledger.state.withLock { state in
            for seq in 1...10 { state.messages[UInt64(seq)] = world.single(UInt64(seq)) }
        }
        await world.settle()
        #expect(world.gate.waiting.count == 3)
        world.router.appChanged(world.shop, gate: nil)
        world.router.report(world.gate.report(3, nil, credit: 0))
        world.router.accepted([world.single(11)])
        world.ledger.state.withLock { $0.messages[11] = world.single(11) }
        await world.settle()
        #expect(world.router.unfinished == 11)
        let again = FakeGate(world.shop)
        world.router.appChanged(world.shop, gate: again)
        world.router.report(again.report(credit: 100))
        await world.settle()
        #expect(again.waiting.count == 11)
        world.router.report(again.report(credit: 100))
        await world.settle()
        #expect(world.ledger.state.withLock { $0.completedCount } == 11)
        await world.loop.shutDown()
    }

    @Test func `Answers and the candidates for deactivation among them are handed on together`() async {
        let world = RouterWorld()
        await world.open(credit: 10)
        world.router.accepted([world.single(1)])
        await world.settle()
        let gone = Refusal(status: 410, reason: "Unregistered", timestamp: 99)
        world.router.report(world.gate.report(1, .rejected(gone, deactivates: .gone), credit: 10))
        let answers = await world.answers.wait(count: 1)
        let candidate = Deactivation(
            of: RouterWorld.identities.device(of: world.shop, token: RouterWorld.token(1)), app: world.shop,
            reason: "Unregistered", evidence: 99, messageID: MessageID("m1")!,
            deliveryID: DeliveryID.derived(app: world.shop, message: MessageID("m1")!, token: RouterWorld.token(1)))
        #expect(answers == [[ProviderAnswers(app: world.shop, count: 1, candidates: [candidate])]])
        await world.loop.shutDown()
    }

    @Test func `Draining ends when all that is out has come back`() async {
        let world = RouterWorld()
        await world.open(credit: 2)
        world.router.accepted((1...5).map { world.single($0) })
        await world.settle()
        let (router, gate) = (world.router, world.gate)
        async let drained: Void = router.drain()
        await world.settle()
        router.report(gate.report(1, credit: 10))
        await world.settle()
        #expect(gate.waiting.count == 1)
        router.report(gate.report(1, nil, credit: 10))
        await drained
        #expect(world.ledger.state.withLock { $0.completedCount } == 1)
        #expect(gate.waiting.isEmpty)
        await world.loop.shutDown()
    }
}
