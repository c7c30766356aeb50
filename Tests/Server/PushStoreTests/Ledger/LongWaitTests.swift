import PushModel
import TestTraits
import Testing

@testable import PushStore

/// Messages that wait for longer than their ids are remembered, and the cost while they wait.
@Suite(.waits) struct LongWaitTests {
    private static let day = Duration.seconds(86_400)

    /// The arguments vary when the ledger is reopened and whether the message is scheduled.
    @Test(arguments: [false, true], [false, true])
    func `A delivery after the dedupe window is still remembered for its device`(
        reopens: Bool, isScheduled: Bool
    ) async throws {
        try await withLedger { scene in
            let due = isScheduled ? scene.now + 8 * 86_400 : nil
            let request = push("late", notBefore: due)
            _ = await scene.accept(request)
            scene.advance(Self.day * 8)
            await scene.trim()
            let message = try #require(try await scene.load([1]).first)
            #expect(message.needsClaim == false)
            scene.carryOut(message)
            await scene.settled()
            #expect(await scene.trim().messageKeys == 0)
            if reopens { try await scene.reopen() }
            scene.advance(reopens ? Self.day * 6 : .seconds(3))
            await scene.trim()
            let again = try #require(await scene.accept(request).seq)
            #expect(scene.listener.messages.last?.needsClaim == true)
            #expect(await scene.claim(again, "late", [token(1)]) == [.had])
        }
    }

    /// The moments at which the ledger is reopened.
    enum Reopening: CaseIterable {
        case never, beforeSending, afterSending, both

        var isBefore: Bool { self == .beforeSending || self == .both }
        var isAfter: Bool { self == .afterSending || self == .both }
    }

    /// The messages are accepted and sent within the window. Their ids become older than the window before their
    /// deliveries do.
    @Test(arguments: Reopening.allCases, LedgerKind.allCases)
    func `The dedupe window of a device begins with its delivery`(reopening: Reopening, kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            _ = await scene.accept([push("waits"), push("scheduled", notBefore: scene.now + 60)])
            scene.advance(Self.day * 6)
            if reopening.isBefore { try await scene.reopen() }
            for message in try await scene.load([1, 2]) { scene.carryOut(message) }
            await scene.settled()
            if reopening.isAfter { try await scene.reopen() }
            scene.advance(Self.day * 2)
            #expect(await scene.trim().messageKeys == 0)
            for id in ["waits", "scheduled"] {
                let seq = try #require(await scene.accept(push(id)).seq)
                #expect(await scene.claim(seq, id, [token(1)]) == [.had])
            }
            for message in scene.listener.messages.suffix(2) {
                scene.ledger.record([], completed: [scene.completed(message)])
            }
            scene.advance(Self.day * 8)
            let status = await scene.trim()
            #expect(status.messageKeys == 0)
            #expect(status.deliveryKeys == 0)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `A message for one device that is sent soon needs no second key`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            _ = await scene.accept(push("a"))
            scene.advance(.seconds(3600))
            scene.carryOut(scene.listener.messages[0])
            #expect(await scene.settled().deliveryKeys == 0)
        }
    }

    @Test func `Pinned keys are not read again in each trim`() async throws {
        try await withLedger { scene in
            func cost(_ count: Int) async -> UInt64 {
                for index in 0..<count { _ = await scene.accept(push("waits\(index)")) }
                scene.advance(Self.day * 8)
                await scene.trim()
                let before = await scene.settled().steps
                await scene.trim()
                return await scene.settled().steps - before
            }
            let few = await cost(8)
            let many = await cost(80)
            #expect(many <= few + 5)
            // Keys of messages that are done are removed.
            for message in scene.listener.messages { scene.carryOut(message) }
            await scene.settled()
            #expect(await scene.trim().messageKeys == 0)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `A changed dedupe window also applies to waiting messages`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            _ = await scene.accept([push("a"), push("b", to: [1, 2])])
            scene.advance(Self.day * 8)
            await scene.trim()
            scene.retention.window = Self.day * 30
            await scene.trim()
            _ = await scene.claim(2, "b", [token(1), token(2)])
            for message in scene.listener.messages { scene.carryOut(message) }
            #expect(await scene.trim().messageKeys == 2)
            scene.retention.window = Self.day * 7
            let status = await scene.trim()
            #expect(status.messageKeys == 0)
            #expect(status.deliveryKeys == 3)
        }
    }
}
