import PushModel
import TestTraits
import Testing

@testable import PushStore

/// One message id for many audiences, as when a producer names its devices one by one.
@Suite(.waits) struct ManyAudiencesTests {
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

    /// Returns the number of steps that opening a ledger takes with `count` messages of one id.
    private func stepsToOpen(_ count: Int) async throws -> UInt64 {
        try await withLedger { scene in
            for first in stride(from: 0, to: count, by: 1000) {
                _ = await scene.accept((first..<(first + 1000)).map { push("a", to: [$0]) })
            }
            await scene.ledger.close()
            let (core, _) = try LedgerCore.open(scene.settings)
            #expect(core.machine.dedupe.messages.idCount == 1)
            #expect(core.machine.dedupe.messages.count == count)
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
}
