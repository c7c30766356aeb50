import PushModel
import Testing

@testable import PushStore

/// Messages that waited for longer than their ids are remembered, and what that costs meanwhile.
@Suite(.timeLimit(.minutes(15))) struct LongWaitTests {
    private static let day = Duration.seconds(86_400)

    /// In which order the message is sent, the ledger is opened anew and what is old is let go of.
    @Test(arguments: [false, true], [false, true])
    func `A device that was sent to after the window has the message all the same`(
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

    /// When the ledger is opened anew.
    enum Reopening: CaseIterable {
        case never, beforeSending, afterSending, both

        var isBefore: Bool { self == .beforeSending || self == .both }
        var isAfter: Bool { self == .afterSending || self == .both }
    }

    /// The messages are accepted and sent within the window; then their ids grow old before their deliveries do.
    @Test(arguments: Reopening.allCases)
    func `The window of a device begins when it was sent to`(reopening: Reopening) async throws {
        try await withLedger { scene in
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

    @Test func `What is sent soon takes no second key`() async throws {
        try await withLedger { scene in
            _ = await scene.accept(push("a"))
            scene.advance(.seconds(3600))
            scene.carryOut(scene.listener.messages[0])
            #expect(await scene.settled().deliveryKeys == 0)
        }
    }

    @Test func `What waits is not read again and again`() async throws {
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
            // And when it is done it goes.
            for message in scene.listener.messages { scene.carryOut(message) }
            await scene.settled()
            #expect(await scene.trim().messageKeys == 0)
        }
    }

    @Test func `A window that is set longer or shorter counts for what waits, too`() async throws {
        try await withLedger { scene in
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
