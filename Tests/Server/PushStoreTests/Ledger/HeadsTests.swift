import PushModel
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

@Suite(.waits) struct HeadsTests {
    @Test(arguments: LedgerKind.allCases)
    func `An engine knows the last numbers of its part as of its opening`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let part = try #require(PartitionID(0))
            #expect(scene.ledger.heads() == [LogHeads(part: part, newest: 0, topics: [])])
            _ = await scene.accept([push("a"), push("b")])
            #expect(scene.ledger.heads(of: part)?.newest == 0)
            try await scene.reopen()
            let head = LogWriter.Head(app: LedgerScene.shop, kind: .messageAccepted, seq: 2)
            #expect(scene.ledger.heads(of: part) == LogHeads(part: part, newest: 2, topics: [head]))
            let other = try #require(PartitionID(1))
            #expect(scene.ledger.heads(of: other) == nil)
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `An engine without work is not busy`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            _ = await scene.accept(push("a"))
            await wait(while: scene.ledger.busyTime(at: .current() + .seconds(60)) > .zero)
        }
    }
}
