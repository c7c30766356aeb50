import Foundation
import PushModel
import Testing

@testable import PushStore

/// Calls of a closed ledger. Other tasks can still make such calls while the process shuts down.
@Suite struct LedgerCloseTests {
    @Test func `Calls after the close are refused and write nothing`() async throws {
        try await withLedgerFolder { folder in
            let scene = try await LedgerScene(folder)
            let seq = try #require(await scene.accept(push("before")).seq)
            let message = scene.listener.messages[0]
            await scene.ledger.close()
            let late = await withCheckedContinuation { continuation in
                scene.ledger.accept([push("a"), push("b")]) { continuation.resume(returning: $0) }
            }
            #expect(late == Array(repeating: .failed("the ledger is closed"), count: 2))
            #expect(await scene.note([EventDraft(.connectionUp, app: LedgerScene.shop)]) == nil)
            scene.carryOut(message)
            scene.ledger.trim()
            scene.ledger.claim([]) { _ in Issue.record("a closed ledger must not answer claims") }
            await #expect(throws: LedgerFault.self) { _ = try await scene.load([seq]) }
            await #expect(throws: LedgerFault.self) { _ = try await scene.due(at: .max) }
            await #expect(throws: StoreError.self) { _ = try await scene.ledger.read(since: 0, limit: 1) }
            let subject = TraceSubject.device(scene.device(token(1)))
            await #expect(throws: StoreError.self) { _ = try await scene.ledger.trace(subject, limit: 1) }
            await scene.ledger.flush()
            #expect(await scene.ledger.status() == LedgerStatus())
            #expect(await scene.ledger.age() == nil)

            try await scene.reopenOnly()
            #expect(scene.backlog.lanes.flatMap(\.seqs) == [seq])
            #expect(await scene.ledger.status().newest == seq)
            await scene.ledger.close()
        }
    }

    @Test func `Only the owner may read the files of the ledger`() async throws {
        try await withLedgerFolder { folder in
            let scene = try await LedgerScene(folder)
            _ = await scene.accept(push("a"))
            func modes() throws -> Set<Int> {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder)
                return Set(
                    try names.map { name in
                        let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
                        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
                    })
            }
            #expect(try modes() == [0o600])
            await scene.ledger.close()
            // An older version left its files like this.
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scene.path)
            try await scene.reopenOnly()
            #expect(try modes() == [0o600])
            await scene.ledger.close()
        }
    }
}
