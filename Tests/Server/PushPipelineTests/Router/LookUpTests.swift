import PushLogic
import PushLoop
import PushModel
import PushPipeline
import TestSupport
import Testing

/// Messages to single users and tags, whose devices are looked up together.
@Suite struct LookUpTests {
    private static func toUsers(_ numbers: ClosedRange<UInt64>, in world: RouterWorld) -> [AcceptedMessage] {
        numbers.map { world.message($0, to: .users(["\($0)"])) }
    }

    private static func toTags(_ numbers: ClosedRange<UInt64>, in world: RouterWorld) -> [AcceptedMessage] {
        numbers.map { world.message($0, to: .tags(.all([.tag("\($0)")]))) }
    }

    /// Returns a world whose registry answers look-ups together, with credit for all messages of a test.
    private static func opened() async -> RouterWorld {
        let world = RouterWorld()
        world.registry.answersTogether.withLock { $0 = true }
        await world.open(credit: 500)
        return world
    }

    /// The devices of what waits at the gateway, as the names of users or tags give them.
    private static func expected(in world: RouterWorld) -> [Address] {
        world.gate.waiting.map {
            FakeRegistry.device(of: String($0.message.id.text.dropFirst()), in: world.shop).token
        }
    }

    private static func completed(in world: RouterWorld) -> [UInt64: Int] {
        let all = world.ledger.state.withLock { $0.completed }
        return Dictionary(all.map { ($0.seq, Int($0.counts.sent)) }) { one, other in one + other }
    }

    @Test func `The users of the messages of one turn are looked up together`() async {
        let world = await Self.opened()
        world.router.accepted(Self.toUsers(1...150, in: world))
        await world.settle()
        #expect(world.registry.lookUps.withLock { $0.sorted() } == [22, 64, 64])
        #expect(world.registry.pages.withLock { $0 } == 0)
        #expect(world.gate.waiting.map(\.token) == Self.expected(in: world))
        await world.finish()
        #expect(Self.completed(in: world) == Dictionary(uniqueKeysWithValues: (1...150).map { ($0, 1) }))
        #expect(world.registry.lookUps.withLock { $0.count } == 3)
        await world.loop.shutDown()
    }

    /// A lane for many devices begins fewer messages at once.
    @Test func `The tags of the messages of one turn are looked up together`() async {
        let world = await Self.opened()
        world.router.accepted(Self.toTags(1...150, in: world))
        await world.finish()
        let lookUps = world.registry.lookUps.withLock { $0 }
        #expect(lookUps.reduce(0, +) == 150 && lookUps.count <= 15, "\(lookUps)")
        #expect(world.registry.pages.withLock { $0 } == 0)
        // What is looked up by itself, as the last one may be, is answered at another time.
        #expect(world.gate.state.withLock { $0.order.map(\.text).sorted() } == (1...150).map { "m\($0)" }.sorted())
        #expect(Self.completed(in: world) == Dictionary(uniqueKeysWithValues: (1...150).map { ($0, 1) }))
        await world.loop.shutDown()
    }

    @Test func `A device that is removed while it is looked up with others gets nothing`() async {
        let world = RouterWorld()
        world.registry.answersTogether.withLock { $0 = true }
        world.registry.removedMeanwhile.withLock { $0 = ["2", "5"] }
        await world.open(credit: 500)
        world.router.accepted(Self.toUsers(1...3, in: world) + Self.toTags(4...6, in: world))
        await world.settle()
        #expect(Set(world.gate.waiting.map(\.message.id.text)) == ["m1", "m3", "m4", "m6"])
        #expect(world.gate.waiting.map(\.token) == Self.expected(in: world))
        await world.finish()
        #expect(Self.completed(in: world) == [1: 1, 2: 0, 3: 1, 4: 1, 5: 0, 6: 1])
        let suppressed = world.ledger.state.withLock { $0.records.filter { $0.outcome == .suppressed(.unknownDevice) } }
        #expect(suppressed.count == 2)
        await world.loop.shutDown()
    }

    @Test func `A look-up without an answer is repeated alone, and the others keep theirs`() async {
        let world = RouterWorld()
        world.registry.answersTogether.withLock { $0 = true }
        world.registry.large.withLock { $0 = ["2", "5"] }
        world.registry.count.withLock { $0 = 2500 }
        await world.open(credit: 500)
        world.router.accepted(Self.toUsers(1...3, in: world) + Self.toTags(4...6, in: world))
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
        world.router.accepted(Self.toUsers(1...3, in: world) + Self.toTags(4...6, in: world))
        await world.settle()
        #expect(world.registry.lookUps.withLock { $0.first } == 6)
        #expect(world.registry.pages.withLock { $0 } >= 6)
        #expect(world.gate.waiting.count >= 5)
        await world.pass(60)
        await world.finish()
        #expect(Self.completed(in: world) == Dictionary(uniqueKeysWithValues: (1...6).map { ($0, 1) }))
        await world.loop.shutDown()
    }

    @Test func `Messages that need more than the devices of a user or a tag are looked up alone`() async {
        let world = RouterWorld()
        world.registry.answersTogether.withLock { $0 = true }
        world.registry.count.withLock { $0 = 1 }
        await world.open(credit: 500)
        world.router.accepted([
            world.message(1, to: .users(["1"]), preferred: [PreferredApp(AppID("first")!, kind: .alert)]),
            world.message(2, to: .users(["1", "2"])), world.message(3, to: .everyone),
            world.message(4, to: .tags(.not(.tag("1")))),
        ])
        await world.finish()
        #expect(world.registry.lookUps.withLock { $0 } == [])
        #expect(world.registry.pages.withLock { $0 } == 4)
        #expect(world.registry.questions.withLock { $0.count } == 1)
        await world.loop.shutDown()
    }
}
