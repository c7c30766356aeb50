import PushModel
import TestSupport
import Testing

@testable import PushStore

/// One message id for many audiences, as when a producer names its devices one by one.
@Suite(.timeLimit(.minutes(15))) struct ManyAudiencesTests {
    @Test(arguments: [false, true]) func `A resend is compared with all messages of its id`(reopens: Bool) async throws
    {
        try await withLedger { scene in
            let requests = (0..<40).map { push("a", to: [$0, $0 + 1000]) }
            #expect(await scene.accept(requests).compactMap(\.seq) == Array(1...40))
            if reopens { try await scene.reopen() }
            // The search must not cover only the first or only the last messages.
            for index in [0, 1, 12, 20, 39] {
                #expect(await scene.accept(requests[index]) == .duplicate(seq: UInt64(index + 1)))
            }
            #expect(await scene.accept(push("a", to: [12, 1013])).seq != nil)
            #expect(await scene.accept(push("a", to: [12, 1012], payload: [1])) == .conflict(seq: 1))
        }
    }

    @Test func `After a failed commit its messages are forgotten and earlier ones are kept`() throws {
        var messages = RememberedMessages()
        messages.addFirst(1, of: 7)
        _ = messages.addLater(2, of: 7, for: 70)
        let again = messages.addLater(3, of: 7, for: 70)
        let other = messages.addLater(4, of: 7, for: 71)
        #expect(messages.count == 4)
        messages.takeBack(other)
        messages.takeBack(again)
        #expect(messages.later(of: 7, for: 70) == 2)
        #expect(messages.later(of: 7, for: 71) == nil)
        #expect(messages.count == 2)
        messages.remove(1, of: 7, for: 69)
        #expect(messages.first(of: 7) == 2)
        #expect(messages.later(of: 7, for: 70) == 2)
        messages.remove(2, of: 7, for: 70)
        #expect(messages.count == 0)
        #expect(messages.later(of: 7, for: 70) == nil)
    }

    @Test func `A restored scheduled message does not replace a newer one of its audience`() throws {
        var messages = RememberedMessages()
        messages.recall(1, of: 7, for: 69)
        messages.recall(5, of: 7, for: 70)
        try messages.recallScheduled(3, of: 7, for: 70) { _ in nil }
        _ = messages.finishRecalling()
        #expect(messages.later(of: 7, for: 70) == 5)
        #expect(messages.count == 3)
    }

    /// Returns the number of steps that opening a ledger takes with `count` messages of one id.
    private func stepsToOpen(_ count: Int) async throws -> UInt64 {
        try await withLedger { scene in
            for first in stride(from: 0, to: count, by: 1000) {
                _ = await scene.accept((first..<(first + 1000)).map { push("a", to: [$0]) })
            }
            await scene.ledger.close()
            let (core, _) = try LedgerCore.open(scene.settings)
            #expect(core.messages.idCount == 1)
            #expect(core.messages.count == count)
            let steps = core.connection.steps
            try await scene.reopenOnly()
            #expect(await scene.accept(push("a", to: [count / 2])) == .duplicate(seq: UInt64(count / 2 + 1)))
            return steps
        }
    }

    @Test func `The cost of opening per message does not grow with their number`() async throws {
        let (few, many) = (try await stepsToOpen(2000), try await stepsToOpen(20_000))
        #expect(many < 12 * few)
    }

    /// The test counts the steps that accepting a message of a known id takes.
    @Test func `Each further audience of an id costs as much as the one before`() async throws {
        try await withLedger { scene in
            func steps(_ devices: Range<Int>) async -> UInt64 {
                let before = await scene.settled().steps
                _ = await scene.accept(devices.map { push("a", to: [$0]) })
                return await scene.settled().steps - before
            }
            _ = await steps(0..<500)
            let early = await steps(500..<1000)
            _ = await steps(1000..<9500)
            let late = await steps(9500..<10_000)
            #expect(late < early + 100)
        }
    }

    /// Numbers are removed in ascending order, as keys expire, or in any order, as scheduled messages are done.
    @Test(arguments: [false, true]) func `The cost of removing a number hardly grows with their count`(inOrder: Bool) {
        func moves(_ count: Int) -> Int {
            var random = SeededRandom(seed: 3)
            var later = LaterMessages()
            for number in 1...UInt64(count) { later.append(number) }
            var numbers = Array(1...UInt64(count))
            if !inOrder { numbers.shuffle(using: &random) }
            for number in numbers {
                let isRemoved = later.remove(number)
                #expect(isRemoved)
            }
            #expect(later.count == 0)
            return later.moves
        }
        // The depth of a search grows with the logarithm of the count.
        #expect(moves(20_000) < 15 * moves(2000))
    }

    @Test func `Numbers are found, sorted and removed as in a plain set`() {
        var random = SeededRandom(seed: 11)
        var later = LaterMessages()
        var model: Set<UInt64> = []
        for number in (1...300 as ClosedRange<UInt64>).shuffled(using: &random) {
            later.append(number)
            if number % 5 == 0 { later.append(number) }
            model.insert(number)
        }
        later.sort()
        #expect(later.count == model.count)
        for _ in 0..<400 {
            let number = UInt64.random(in: 1...310, using: &random)
            let isThere = later.contains(number)
            #expect(isThere == model.contains(number))
            let isRemoved = later.remove(number)
            #expect(isRemoved == (model.remove(number) != nil))
            #expect(later.first == model.min())
            #expect(later.count == model.count)
        }
    }
}
