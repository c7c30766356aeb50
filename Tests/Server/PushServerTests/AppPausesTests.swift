import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushServer

/// Pauses that are changed while an earlier change is being stored.
@Suite(.waits) struct AppPausesTests {
    private static let shop = AppID("shop")!
    private static let bank = AppID("bank")!

    /// The owner of the pauses, and a store that answers when the test lets it.
    private actor Owner {
        let pauses = AppPauses([AppPausesTests.shop: WallTime(milliseconds: 5)])
        private(set) var stored: [String] = []
        private(set) var applied: [String] = []
        private var waiting: [CheckedContinuation<String?, Never>] = []

        func change(_ app: AppID, to isPaused: Bool) async -> String? {
            let name = "\(app.name) \(isPaused)"
            return await pauses.change(app, to: isPaused, at: WallTime(milliseconds: 9)) { _ in
                stored.append(name)
                return await withCheckedContinuation { waiting.append($0) }
            } apply: {
                applied.append(name)
            }
        }

        func answer(_ fault: String? = nil) { waiting.removeFirst().resume(returning: fault) }
        func isPaused(_ app: AppID) -> Bool { pauses.contains(app) }
        func follow(_ all: [AppID: WallTime], readAt: MonotonicTime) -> [AppID] { pauses.follow(all, readAt: readAt) }
    }

    @Test func `A pause that comes while a resumption is stored is stored after it`() async {
        let owner = Owner()
        async let resumed = owner.change(Self.shop, to: false)
        await wait(while: await owner.stored != ["shop false"])
        async let paused = owner.change(Self.shop, to: true)
        // Another app does not wait.
        async let other = owner.change(Self.bank, to: true)
        await wait(while: await owner.stored != ["shop false", "bank true"])
        await owner.answer()
        #expect(await resumed == nil)
        await wait(while: await owner.stored.count < 3)
        await owner.answer()
        await owner.answer()
        #expect(await paused == nil)
        #expect(await other == nil)
        #expect(await owner.applied.filter { $0.hasPrefix("shop") } == ["shop false", "shop true"])
        #expect(await owner.isPaused(Self.shop))
    }

    @Test func `A change that cannot be stored changes nothing, and the next one has its turn`() async {
        let owner = Owner()
        async let resumed = owner.change(Self.shop, to: false)
        await wait(while: await owner.stored.isEmpty)
        async let again = owner.change(Self.shop, to: false)
        await owner.answer("disk full")
        #expect(await resumed == "disk full")
        await wait(while: await owner.stored.count < 2)
        await owner.answer()
        #expect(await again == nil)
        #expect(await !owner.isPaused(Self.shop))
        // What is so already is not stored.
        #expect(await owner.change(Self.shop, to: false) == nil)
        #expect(await owner.stored.count == 2)
    }

    @Test func `A change that this node is storing is not overtaken by what the nodes shared before`() async {
        let owner = Owner()
        async let resumed = owner.change(Self.shop, to: false)
        await wait(while: await owner.stored.isEmpty)
        let time = WallTime(milliseconds: 7)
        let before = MonotonicTime(nanoseconds: 0)
        #expect(await owner.follow([Self.bank: time], readAt: before) == [Self.bank])
        #expect(await owner.isPaused(Self.shop))
        await owner.answer()
        #expect(await resumed == nil)
        #expect(await owner.follow([Self.shop: time], readAt: before) == [])
        #expect(await owner.follow([Self.shop: time], readAt: .distantFuture) == [Self.bank, Self.shop])
    }
}
