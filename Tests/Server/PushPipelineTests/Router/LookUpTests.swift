import PushLogic
import PushLoop
import PushModel
import PushPipeline
import TestSupport
import Testing

/// Messages to single users, whose devices are looked up together.
@Suite struct LookUpTests {
    private static func messages(_ numbers: ClosedRange<UInt64>, in world: RouterWorld) -> [AcceptedMessage] {
        numbers.map { world.message($0, to: .users(["\($0)"])) }
    }

    private static func completed(in world: RouterWorld) -> [UInt64: Int] {
        let all = world.ledger.state.withLock { $0.completed }
        return Dictionary(all.map { ($0.seq, Int($0.counts.sent)) }) { one, other in one + other }
    }

    @Test func `The users of the messages of one turn are looked up together, and in order`() async {
        let world = RouterWorld()
        world.registry.answersTogether.withLock { $0 = true }
        await world.open(credit: 500)
        world.router.accepted(Self.messages(1...150, in: world))
        await world.settle()
        #expect(world.registry.lookUps.withLock { $0.sorted() } == [22, 64, 64])
        #expect(world.registry.pages.withLock { $0 } == 0)
        let devices = world.gate.waiting.map {
            FakeRegistry.device(of: String($0.message.id.text.dropFirst()), in: world.shop).token
        }
        #expect(world.gate.waiting.map(\.token) == devices)
        await world.finish()
        #expect(Self.completed(in: world) == Dictionary(uniqueKeysWithValues: (1...150).map { ($0, 1) }))
        #expect(world.registry.lookUps.withLock { $0.count } == 3)
        await world.loop.shutDown()
    }

    @Test func `A look-up without an answer is repeated alone, and the others keep theirs`() async {
        let world = RouterWorld()
        world.registry.answersTogether.withLock { $0 = true }
        world.registry.large.withLock { $0 = ["2", "5"] }
        world.registry.count.withLock { $0 = 2500 }
        await world.open(credit: 500)
        world.router.accepted(Self.messages(1...6, in: world))
        await world.finish()
        #expect(Self.completed(in: world) == [1: 1, 2: 2500, 3: 1, 4: 1, 5: 2500, 6: 1])
        #expect(world.registry.lookUps.withLock { $0 } == [6])
        #expect(world.registry.pages.withLock { $0 } == 6)
        await world.loop.shutDown()
    }

    @Test func `If look-ups fail together, each is asked for alone, and none is lost`() async {
        let world = RouterWorld()
        world.registry.count.withLock { $0 = 1 }
        world.registry.failing.withLock { $0 = 1 }
        await world.open(credit: 500)
        world.router.accepted(Self.messages(1...6, in: world))
        await world.settle()
        #expect(world.registry.lookUps.withLock { $0.first } == 6)
        #expect(world.registry.pages.withLock { $0 } >= 6)
        #expect(world.gate.waiting.count >= 5)
        await world.pass(60)
        await world.finish()
        #expect(Self.completed(in: world) == Dictionary(uniqueKeysWithValues: (1...6).map { ($0, 1) }))
        await world.loop.shutDown()
    }

    @Test func `Messages that need more than the devices of a user are looked up alone`() async {
        let world = RouterWorld()
        world.registry.answersTogether.withLock { $0 = true }
        world.registry.count.withLock { $0 = 1 }
        await world.open(credit: 500)
        world.router.accepted([
            world.message(1, to: .users(["1"]), preferred: [PreferredApp(AppID("first")!, kind: .alert)]),
            world.message(2, to: .users(["1", "2"])), world.message(3, to: .everyone),
        ])
        await world.finish()
        #expect(world.registry.lookUps.withLock { $0 } == [])
        #expect(world.registry.pages.withLock { $0 } == 3)
        #expect(world.registry.questions.withLock { $0.count } == 1)
        await world.loop.shutDown()
    }
}
