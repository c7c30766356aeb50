import PushModel
import Testing

@testable import PushStore

/// How much waits and is remembered, and what bounds it.
@Suite(.timeLimit(.minutes(15))) struct BacklogTests {
    private static let other = AppID("other")!

    private func backlog(_ waiting: Int, _ scheduled: Int) -> AppBacklog {
        var backlog = AppBacklog()
        (backlog.waiting, backlog.scheduled) = (waiting, scheduled)
        return backlog
    }

    @Test func `What waits and what is scheduled is counted by app`() async throws {
        try await withLedger { scene in
            let later = scene.now + 100
            _ = await scene.accept([
                push("a"), push("b", app: Self.other), push("c"), push("d", app: Self.other, notBefore: later),
                push("e", notBefore: later), push("f", app: Self.other, notBefore: later), push("a"),
            ])
            let ledger = scene.ledger
            #expect(ledger.backlog(of: LedgerScene.shop) == backlog(2, 1))
            #expect(ledger.backlog(of: Self.other) == backlog(1, 2))
            #expect(ledger.backlog(of: AppID("none")!) == backlog(0, 0))
            for reopens in [false, true] {
                if reopens { try await scene.reopen() }
                let apps = await scene.settled().apps
                #expect(apps == [LedgerScene.shop: backlog(2, 1), Self.other: backlog(1, 2)])
            }
            for message in try await scene.load([1, 2, 3, 4]) { scene.carryOut(message) }
            await scene.settled()
            #expect(scene.ledger.backlog(of: LedgerScene.shop) == backlog(0, 1))
            #expect(scene.ledger.backlog(of: Self.other) == backlog(0, 1))
            // The same end once more changes nothing.
            for message in try await scene.load([5]) {
                scene.carryOut(message)
                scene.carryOut(message)
            }
            #expect(await scene.settled().apps == [Self.other: backlog(0, 1)])
        }
    }

    @Test func `As much is remembered as may be, and then new messages wait until some is forgotten`() async throws {
        try await withLedger { scene in
            scene.retention.keyLimit = 10
            await scene.trim()
            #expect(await scene.accept((0..<4).map { push("m\($0)") }).compactMap(\.seq).count == 4)
            let wide = try #require(await scene.accept(push("wide", to: Array(0..<20))).seq)
            // What was accepted is carried out, and its devices are remembered.
            let tokens = (0..<20).map { token($0) }
            #expect(await scene.claim(wide, "wide", tokens) == tokens.map { _ in .new })
            for message in scene.listener.messages { scene.carryOut(message) }
            let full = await scene.settled()
            #expect(full.remembered == 25)
            for request in [push("new"), push("m1", to: [5, 6])] {
                guard case .failed(let words) = await scene.accept(request) else {
                    Issue.record("it was not refused")
                    continue
                }
                #expect(words.contains("dedupe.limit"))
            }
            #expect(await scene.settled().refusedByLimit == 2)
            // What is known is known, and the disk is not at fault.
            #expect(await scene.accept(push("m1")) == .duplicate(seq: 2))
            #expect(scene.listener.health.isEmpty)
            scene.advance(.seconds(8 * 86_400))
            #expect(await scene.trim().remembered == 0)
            #expect(await scene.accept(push("new")).seq != nil)
        }
    }

    @Test func `Within one group the bound holds, too`() async throws {
        try await withLedger { scene in
            scene.retention.keyLimit = 10
            await scene.trim()
            let replies = await scene.accept((0..<30).map { push("m\($0)") })
            #expect(replies.compactMap(\.seq) == Array(1...10))
        }
    }
}
