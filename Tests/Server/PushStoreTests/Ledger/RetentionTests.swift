import PushModel
import Testing

@testable import PushStore

@Suite struct RetentionTests {
    private static let day = Duration.seconds(86_400)

    @Test func `The log stays within its size and age limits`() async throws {
        try await withLedger { scene in
            for index in 0..<200 {
                _ = await scene.accept(push("m\(index)"))
                scene.advance(.seconds(60))
            }
            let all = await scene.settled()
            scene.retention.logBytes = all.logBytes / 2
            let half = await scene.trim()
            #expect(half.logBytes <= all.logBytes / 2)
            #expect(half.logBytes > all.logBytes / 2 - 200)
            #expect((95...110).contains(half.oldest))
            scene.retention.logBytes = 1 << 30
            scene.retention.logAge = .seconds(60 * 50) + .seconds(30)
            let young = await scene.trim()
            #expect(young.oldest == 151)
            let page = try await scene.ledger.read(since: 0, limit: .max)
            #expect(page.oldest == 151)
            #expect(page.segments.first?.first == 151)
            // Ids are remembered for longer than events.
            #expect(young.messageKeys == 200)
            try await scene.reopen()
            let reopened = await scene.settled()
            #expect(reopened.oldest == young.oldest)
            #expect(reopened.logBytes == young.logBytes)
            #expect(await scene.accept(push("m0")) == .duplicate(seq: 1))
        }
    }

    @Test(arguments: [false, true], LedgerKind.allCases)
    func `After the dedupe window an id is new again, and its keys are gone`(reopens: Bool, kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            _ = await scene.accept([push("single"), push("wide", to: [1, 2, 3]), push("twice")])
            _ = await scene.accept(push("twice", to: [1, 2]))
            for message in scene.listener.messages {
                if case .tokens(let tokens) = message.audience, message.needsClaim {
                    _ = await scene.claim(message.seq, message.message.id.text, tokens)
                }
                scene.carryOut(message)
            }
            let before = await scene.settled()
            #expect(before.messageKeys == 3)
            #expect(before.deliveryKeys == 5)
            scene.advance(Self.day * 6)
            #expect(await scene.accept(push("young", to: [7, 8])).seq != nil)
            let young = scene.listener.messages.last!
            _ = await scene.claim(young.seq, "young", [token(7), token(8)])
            scene.carryOut(young)
            if reopens { try await scene.reopen() }
            scene.advance(Self.day)
            scene.advance(.seconds(1))
            let after = await scene.trim()
            #expect(after.messageKeys == 1)
            #expect(after.deliveryKeys == 2)
            #expect(await scene.accept(push("young", to: [7, 8])).seq == nil)
            for id in ["single", "twice"] {
                #expect(await scene.accept(push(id)).seq != nil)
                #expect(scene.listener.messages.last?.needsClaim == false)
            }
            let wide = try #require(await scene.accept(push("wide", to: [1, 2, 3], expiresAt: scene.now + 5)).seq)
            #expect(await scene.claim(wide, "wide", [token(1), token(2), token(3)]) == [.new, .new, .new])
        }
    }

    @Test func `A waiting message is not forgotten, however long it waits`() async throws {
        try await withLedger { scene in
            _ = await scene.accept([push("waits", to: [1, 2]), push("done", to: [3])])
            let messages = scene.listener.messages
            _ = await scene.claim(1, "waits", [token(1), token(2)])
            // Half of the message is sent, and the message beside it is done. Both are recorded in later groups.
            scene.ledger.record(scene.sent(messages[0], [token(1)]), completed: [])
            await scene.settled()
            scene.carryOut(messages[1])
            await scene.settled()
            scene.advance(Self.day * 30)
            #expect(await scene.trim().messageKeys == 2)
            try await scene.reopen()
            #expect(scene.backlog.lanes.map(\.seqs) == [[1]])
            let again = try await scene.load([1, 2])
            #expect(again.map(\.seq) == [1])
            #expect(again.first?.counts.sent == 1)
            #expect(await scene.accept(push("waits", to: [1, 2])) == .duplicate(seq: 1))
            #expect(await scene.claim(1, "waits", [token(1), token(2)]) == [.done, .new])
            scene.ledger.record(scene.sent(again[0], [token(2)]), completed: [scene.completed(again[0], sent: 1)])
            #expect(await scene.trim().messageKeys == 0)
            try await scene.reopen()
            let status = await scene.settled()
            #expect(status.waiting == 0)
            // The last delivery ended today.
            #expect(status.deliveryKeys == 1)
        }
    }

    @Test(arguments: [false, true], LedgerKind.allCases)
    func `A message scheduled beyond the dedupe window is known until it is done`(reopens: Bool, kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let due = scene.now + 10 * 86_400
            _ = await scene.accept([push("late", notBefore: due), push("wide", to: [1, 2], notBefore: due)])
            scene.advance(Self.day * 8)
            #expect(await scene.trim().messageKeys == 2)
            if reopens { try await scene.reopen() }
            #expect(await scene.accept(push("late", notBefore: due)) == .duplicate(seq: 1))
            #expect(await scene.accept(push("late", notBefore: due + 1)) == .conflict(seq: 1))
            scene.advance(Self.day * 2)
            for message in try await scene.due(at: due).messages {
                if message.needsClaim {
                    #expect(await scene.claim(message.seq, "wide", [token(1), token(2)]) == [.new, .new])
                }
                scene.carryOut(message)
            }
            // From now on only the deliveries are remembered.
            #expect(await scene.settled().messageKeys == 0)
            if reopens { try await scene.reopen() }
            let later = try #require(await scene.accept(push("wide", to: [1, 2, 3])).seq)
            #expect(await scene.claim(later, "wide", [1, 2, 3].map { token($0) }) == [.had, .had, .new])
            let single = try #require(await scene.accept(push("late")).seq)
            #expect(scene.listener.messages.last?.needsClaim == true)
            #expect(await scene.claim(single, "late", [token(1)]) == [.had])
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Pinned rows do not block the trimming of later rows`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            for index in 0..<300 { _ = await scene.accept(push("waits\(index)")) }
            for index in 0..<300 {
                _ = await scene.accept(push("done\(index)"))
                scene.carryOut(scene.listener.messages.last!)
            }
            scene.advance(Self.day * 8)
            #expect(await scene.trim().messageKeys == 300)
            try await scene.reopen()
            #expect(await scene.settled().messageKeys == 300)
        }
    }

    @Test func `Rows written while the clock was years ahead expire in the usual time`() async throws {
        try await withLedger { scene in
            scene.setClock(by: Self.day * 3650)
            _ = await scene.accept(push("a"))
            scene.carryOut(scene.listener.messages[0])
            await scene.settled()
            scene.setClock(by: Self.day * -3650)
            _ = await scene.accept(push("b"))
            scene.carryOut(scene.listener.messages[1])
            #expect(await scene.trim().messageKeys == 2)
            scene.advance(Self.day)
            #expect(await scene.trim().messageKeys == 2)
            scene.advance(Self.day * 8)
            let status = await scene.trim()
            #expect(status.messageKeys == 0)
            #expect(status.oldest > 1)
        }
    }
}
