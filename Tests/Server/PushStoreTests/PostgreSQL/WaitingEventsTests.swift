import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Events while the database does not store them, and damaged messages.
@Suite(.waits) struct WaitingEventsTests {
    private static func events(_ count: Int) -> [EventDraft] {
        Array(repeating: EventDraft(.connectionDown, app: LedgerScene.shop), count: count)
    }

    @Test func `Beyond a bound the oldest events are dropped and counted while the database is away`() async throws {
        var options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        let proxy = try CuttingProxy(to: try await SharedPostgreSQL.shared.server().port)
        options.hosts = [PostgreSQLHost(name: "127.0.0.1", port: proxy.port)]
        let dropped = EventRecorder<UInt64>()
        var settings = SharedPostgreSQL.settings(options)
        settings.eventsDropped = { dropped.record($0) }
        settings.patience = .seconds(1)
        let (ledger, _) = try await PostgreSQLLedger.openTakingAll(settings)
        let listener = LedgerListener()
        await ledger.start(listener)
        proxy.hold(.requests)
        // This one is under way while the others wait.
        ledger.note(Self.events(1), done: nil)
        await wait(while: listener.health.isEmpty)
        #expect(ledger.busyTime(at: .current()) > .zero)
        for _ in 0..<2 { ledger.note(Self.events(4000), done: nil) }
        #expect(await ledger.status().droppedEvents == 0 && dropped.events.isEmpty)
        for _ in 0..<2 { ledger.note(Self.events(4000), done: nil) }
        #expect(await ledger.status().droppedEvents == 8000 && ledger.latest.droppedEvents == 8000)
        #expect(dropped.events == [4000])
        // A caller does not wait for the database any more once the ledger is about to close.
        let awaited = EventRecorder<UInt64?>()
        ledger.note(Self.events(1)) { awaited.record($0) }
        await ledger.settled()
        #expect(awaited.events.isEmpty)
        ledger.beginEnd()
        #expect(await awaited.wait(count: 1) == [nil])
        proxy.release(.requests)
        await wait(while: listener.health.last != .some(nil))
        await ledger.flush()
        #expect(await ledger.status().newest == 8001)
        #expect(dropped.events == [4000, 8001])
        await ledger.close()
    }

    @Test func `Events of a node without parts are stored when it has one`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        let admin = try await TestSessions.one(to: options.database)
        let dropped = EventRecorder<UInt64>()
        let node = try await LedgerNode(options) { $0.eventsDropped = { dropped.record($0) } }
        for _ in 0..<3 { node.ledger.note(Self.events(4000), done: nil) }
        // A caller that waits is answered at once.
        #expect(await node.ledger.note(Self.events(1)) == nil)
        #expect(await node.ledger.status().droppedEvents == 2000 && dropped.events == [2000])
        try await node.open(0, epoch: try await admin.raise(0))
        await node.ledger.flush()
        #expect(await node.ledger.status().newest == 10_000)
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A damaged message is named by its app and id`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        let admin = try await TestSessions.one(to: options.database)
        let node = try await LedgerNode(options)
        try await node.open(0, epoch: try await admin.raise(0))
        let seqs = await node.accept([push("a"), push("b")]).compactMap(\.seq)
        _ = try await admin.call.run("UPDATE carillon.bodies SET bodies = '\\xff'")
        let result = await withCheckedContinuation { continuation in
            node.ledger.load([seqs[1]]) { continuation.resume(returning: $0) }
        }
        guard case .failure(let fault) = result else { Issue.record("the message was read"); return }
        #expect(fault.damaged == DamagedMessage(seq: seqs[1], app: LedgerScene.shop, id: MessageID("b")))
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A message that is missing is damaged only if the database shows the part as owned`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        let admin = try await TestSessions.one(to: options.database)
        let node = try await LedgerNode(options)
        let epoch = try await admin.raise(0)
        try await node.open(0, epoch: epoch)
        let due = WallTime.current().seconds + 1000
        let seqs = await node.accept([push("a"), push("b", notBefore: due)]).compactMap(\.seq)
        // A database that does not have what was acknowledged last.
        _ = try await admin.call.run("DELETE FROM carillon.bodies")
        _ = try await admin.call.run("DELETE FROM carillon.later")
        _ = try await admin.raise(0)
        for _ in 0..<2 {
            let first = await #expect(throws: LedgerFault.self) { _ = try await node.load([seqs[0]]) }
            let second = await #expect(throws: LedgerFault.self) { _ = try await node.due(at: due) }
            for fault in [first, second] {
                #expect(fault?.damaged == nil && fault?.description.contains("looked for again") == true)
            }
        }
        guard case .failed(let reason) = await node.cancel("a") else { Issue.record("it was cancelled"); return }
        #expect(reason.contains("looked for again"))
        _ = try await admin.call.run("UPDATE carillon.leases SET epoch = \(epoch.value)")
        let first = await #expect(throws: LedgerFault.self) { _ = try await node.load([seqs[0]]) }
        #expect(first?.damaged == DamagedMessage(seq: seqs[0], app: LedgerScene.shop, id: MessageID("a")))
        let second = await #expect(throws: LedgerFault.self) { _ = try await node.due(at: due) }
        #expect(second?.damaged?.seq == seqs[1])
        await node.ledger.close()
        await admin.close()
    }
}
