import Foundation
import PushModel
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Files that lose their names while the ledger is open. What is written to them is gone with the process.
@Suite(.waits) struct LostFilesTests {
    private func move(_ path: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: path, toPath: other)
    }

    @Test(arguments: ["", "-wal"])
    func `Nothing is accepted while a file has lost its name`(end: String) async throws {
        try await withLedger { scene in
            #expect(await scene.accept(push("before")).seq == 1)
            let path = scene.path + end
            try move(path, to: path + ".moved")
            guard case .failed(let words) = await scene.accept(push("lost")) else {
                Issue.record("accepted")
                return
            }
            #expect(words.contains("\(path) was removed or replaced"))
            #expect(scene.listener.health.last.flatMap { $0 } != nil)
            // Another file under the name is not the one that is open.
            try Data().write(to: URL(filePath: path))
            guard case .failed = await scene.accept(push("lost")) else {
                Issue.record("accepted")
                return
            }
            #expect(await scene.settled().fault != nil)
            try FileManager.default.removeItem(atPath: path)
            try move(path + ".moved", to: path)
            // The ledger tries again by itself.
            await wait(while: await scene.settled().fault != nil)
            #expect(await scene.accept(push("after")).seq == 2)
            try await scene.reopen()
            #expect(await scene.accept(push("before")) == .duplicate(seq: 1))
            #expect(await scene.accept(push("after")) == .duplicate(seq: 2))
        }
    }

    @Test func `A ledger at rest reports it, too`() async throws {
        try await withLedger { scene in
            #expect(await scene.accept(push("before")).seq == 1)
            try move(scene.path, to: scene.path + ".moved")
            scene.ledger.trim()
            await scene.settled()
            #expect(scene.listener.health.last.flatMap { $0 }?.description.contains("removed or replaced") == true)
            try move(scene.path + ".moved", to: scene.path)
        }
    }
}
