import PushModel
import Testing

@testable import PushStore

@Suite struct ClaimTests {
    @Test func `After a restart a fan-out continues with the deliveries that have not ended`() async throws {
        try await withLedger { scene in
            let tokens = (0..<100).map { token($0) }
            let seq = try #require(await scene.accept(push("a", to: .tokens(tokens))).seq)
            let message = scene.listener.messages[0]
            #expect(await scene.claim(seq, "a", tokens) == Array(repeating: .new, count: 100))
            let refusal =
                scene.records(message, Array(tokens[30..<35]), .suppressed(.inactive))
                + scene.records(message, Array(tokens[35..<40]), .wrongKind)
            let retried = scene.records(message, Array(tokens[40..<50]), .unknown(.connectionLost, isFinal: false))
            let unknown = scene.records(message, Array(tokens[50..<55]), .unknown(.connectionLost, isFinal: true))
            scene.ledger.record(scene.sent(message, Array(tokens[..<30])) + refusal + retried + unknown, completed: [])
            try await scene.reopen()
            let again = try #require(try await scene.load([seq]).first)
            #expect(again.counts.sent == 30)
            #expect(again.counts.suppressed == 5 && again.counts.rejected == 5)
            #expect(again.counts.unknown == 5)
            #expect(again.counts.total == 45)
            #expect(again.needsClaim)
            var expected = Array(repeating: ClaimVerdict.done, count: 40)
            expected += Array(repeating: .new, count: 10) + Array(repeating: .done, count: 5)
            expected += Array(repeating: .new, count: 45)
            #expect(await scene.claim(seq, "a", tokens) == expected)
            let rest = Array(tokens[40..<50] + tokens[55...])
            scene.ledger.record(scene.sent(again, rest), completed: [scene.completed(again, sent: rest.count)])
            try await scene.reopen()
            #expect(try await scene.load([seq]).isEmpty)
            #expect(scene.backlog.lanes.isEmpty)
            // The same id for another audience: devices that were sent to have the message, and others may still get it.
            let other = try #require(await scene.accept(push("a", to: .everyone)).seq)
            let verdicts = await scene.claim(other, "a", tokens)
            #expect(verdicts == (0..<100).map { (30..<40).contains($0) ? .new : .had })
        }
    }

    @Test(arguments: LedgerKind.allCases) func `A device that is only looked up is not claimed`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let page = ClaimPage(
                seq: 1, fingerprint: scene.fingerprint("a"), devices: [scene.device(token(1)), scene.device(token(2))],
                lookupCount: 1)
            #expect(await scene.claim([page]) == [[.new, .new]])
            #expect(await scene.claim(2, "a", [token(1), token(2)]) == [.had, .new])
            #expect(await scene.claim([page]) == [[.had, .had]])
        }
    }

    @Test func `Other ids and other apps have separate claims`() async throws {
        try await withLedger { scene in
            let device = scene.device(token(1))
            let other = AppID("other")!
            let pages = [
                ClaimPage(seq: 1, fingerprint: scene.fingerprint("a"), devices: [device, device]),
                ClaimPage(seq: 2, fingerprint: scene.fingerprint("b"), devices: [device]),
                ClaimPage(
                    seq: 3, fingerprint: scene.identities.message(of: other, id: MessageID("a")!),
                    devices: [scene.identities.device(of: other, token: token(1)), device]),
                ClaimPage(seq: 4, fingerprint: scene.fingerprint("a"), devices: []),
            ]
            #expect(await scene.claim(pages) == [[.new, .had], [.new], [.new, .new], []])
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `A message for one device that waited during a restart is sent and completed`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            _ = await scene.accept((0..<10).map { push("m\($0)", to: [$0]) })
            for message in scene.listener.messages where message.seq % 2 == 0 { scene.carryOut(message) }
            try await scene.reopen()
            let waiting = try await scene.load(Array(1...10))
            #expect(waiting.map(\.seq) == [1, 3, 5, 7, 9])
            #expect(waiting.allSatisfy { !$0.needsClaim && $0.counts.total == 0 })
            for message in waiting { scene.carryOut(message) }
            let status = await scene.settled()
            #expect(status.waiting == 0)
            try await scene.reopen()
            #expect(await scene.settled().waiting == 0)
            #expect(await scene.accept(push("m0", to: [0])) == .duplicate(seq: 1))
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Claims and loads do not commit`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let before = await scene.settled().commits
            _ = await scene.claim(1, "a", [token(1)])
            _ = try await scene.load([1])
            #expect(await scene.settled().commits == before)
            _ = await scene.accept(push("a", to: [1]))
            let after = await scene.settled().commits
            #expect(after.count == before.count + 1)
            #expect(after.last > .zero && after.total >= after.last)
        }
    }
}
