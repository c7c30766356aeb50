import Dispatch
import PushLoop
import PushModel
import PushWire
import TestTraits
import Testing

@testable import PushStore

/// The numbers of waiting messages and remembered keys, and their limits.
@Suite(.waits) struct BacklogTests {
    private static let other = AppID("other")!

    private func backlog(_ waiting: Int, _ scheduled: Int) -> AppBacklog {
        var backlog = AppBacklog()
        (backlog.waiting, backlog.scheduled) = (waiting, scheduled)
        return backlog
    }

    @Test(arguments: LedgerKind.allCases) func `Waiting and scheduled messages are counted per app`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
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
            // A second completion of the same message changes nothing.
            for message in try await scene.load([5]) {
                scene.carryOut(message)
                scene.carryOut(message)
            }
            #expect(await scene.settled().apps == [Self.other: backlog(0, 1)])
        }
    }

    @Test func `The state can be read while the writing thread hangs`() async throws {
        try await withLedger { scene in
            _ = await scene.accept([push("a"), push("b", app: Self.other)])
            let (hanging, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            // The thread hangs when it reports the commit, after it has published the state.
            await scene.ledger.start(HangingWitness(hanging: hanging, go: go))
            scene.ledger.accept([push("c")]) { _ in }
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    hanging.wait()
                    continuation.resume()
                }
            }
            let latest = scene.ledger.latest
            #expect(latest.waiting == 3 && latest.newest == 3)
            #expect(latest.apps == [LedgerScene.shop: backlog(2, 0), Self.other: backlog(1, 0)])
            let later = MonotonicTime.current() + .seconds(30)
            #expect(scene.sqlite.busyTime(at: later) > .seconds(29))
            go.signal()
            await scene.settled()
            #expect(scene.ledger.latest.waiting == 3)
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `At the key limit new messages are refused until older keys are forgotten`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            scene.retention.keyLimit = 10
            await scene.trim()
            #expect(await scene.accept((0..<4).map { push("m\($0)") }).compactMap(\.seq).count == 4)
            let wide = try #require(await scene.accept(push("wide", to: Array(0..<20))).seq)
            // An accepted message is still sent, and its devices are remembered.
            let tokens = (0..<20).map { token($0) }
            #expect(await scene.claim(wide, "wide", tokens) == tokens.map { _ in .new })
            for message in scene.listener.messages { scene.carryOut(message) }
            let full = await scene.settled()
            #expect(full.remembered == 25)
            for request in [push("new"), push("m1", to: [5, 6])] {
                guard case .failed(let words) = await scene.accept(request) else {
                    Issue.record("the request was not refused")
                    continue
                }
                #expect(words.contains("dedupe.limit"))
            }
            #expect(await scene.settled().refusedByLimit == 2)
            // Known messages are still recognized, and no fault is reported.
            #expect(await scene.accept(push("m1")) == .duplicate(seq: 2))
            #expect(scene.listener.health.isEmpty)
            scene.advance(.seconds(8 * 86_400))
            #expect(await scene.trim().remembered == 0)
            #expect(await scene.accept(push("new")).seq != nil)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `The key limit also holds within one group`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            scene.retention.keyLimit = 10
            await scene.trim()
            let replies = await scene.accept((0..<30).map { push("m\($0)") })
            #expect(replies.compactMap(\.seq) == Array(1...10))
        }
    }
}

/// A witness that keeps the writing thread in its call until it may go.
private final class HangingWitness: LedgerWitness {
    private let hanging: DispatchSemaphore
    private let go: DispatchSemaphore

    init(hanging: DispatchSemaphore, go: DispatchSemaphore) {
        self.hanging = hanging
        self.go = go
    }

    func accepted(_ messages: [AcceptedMessage]) {
        hanging.signal()
        go.wait()
    }

    func cancelled(_ orders: [CancelOrder]) {}
    func committed(_ segments: [LogSegment]) {}
    func healthChanged(_ fault: LedgerFault?) {}
}
