import Foundation
import PushModel
import PushTime
import TestTraits
import Testing

@testable import PushStore

/// A registry beside a ledger that is new, or of another installation.
@Suite(.waits) struct LostLedgerTests {
    private static let shop = AppID("shop")!

    private func registry(_ scene: LedgerScene) async throws -> SQLiteRegistry {
        let (ledger, time) = (scene.ledger, WallTime(milliseconds: scene.time))
        return try await SQLiteRegistry.open(
            directory: scene.folder, identities: ledger.identities, note: { await ledger.note($0) }, now: { time })
    }

    private func register(_ numbers: Range<Int>, in registry: SQLiteRegistry) async throws {
        _ = try await registry.register(numbers.map { RegistryScene.registration($0, user: "ada") })
    }

    private func devices(_ registry: SQLiteRegistry) async throws -> [DeviceRecord] {
        try await registry.list(DeviceFilter(), after: nil, limit: 100).devices
    }

    private func removeLedger(of folder: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix("ledger.db") {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }

    /// Makes the file as earlier versions wrote it.
    private func forgetSecret(in folder: String) throws {
        try SQLiteConnection("\(folder)/registry.db").run("DROP TABLE device_secrets")
    }

    private func secret(in folder: String) throws -> [UInt8]? {
        let connection = try SQLiteConnection("\(folder)/registry.db")
        guard try connection.has("device_secrets") else { return nil }
        let find = try connection.prepare("SELECT secret FROM device_secrets")
        defer { find.reset() }
        return try find.step() ? find.blob(0) : nil
    }

    /// Calls `body` with the directory of an installation that has three devices. The ledger is closed, before and after.
    private func installation(_ body: (LedgerScene) async throws -> Void) async throws {
        try await withLedgerFolder { folder in
            let scene = try await LedgerScene(folder)
            let registry = try await registry(scene)
            try await register(0..<3, in: registry)
            await registry.close()
            await scene.ledger.close()
            try await body(scene)
        }
    }

    @Test func `A ledger in the place of a lost one knows the devices that register again`() async throws {
        try await installation { scene in
            let before = scene.identities.device(of: Self.shop, token: RegistryScene.token(0))
            try removeLedger(of: scene.folder)
            try await scene.reopenOnly()
            #expect(scene.identities.device(of: Self.shop, token: RegistryScene.token(0)) == before)
            let registry = try await registry(scene)
            try await register(0..<4, in: registry)
            let found = try await devices(registry)
            #expect(found.count == 4 && Set(found.compactMap(\.token)).count == 4)
            await registry.close()
            await scene.ledger.close()
        }
    }

    @Test func `A process that was killed leaves the secret and what was applied in the write-ahead log`() async throws
    {
        try await withLedger { scene in
            let registry = try await registry(scene)
            try await register(0..<3, in: registry)
            try await withLedgerFolder { folder in
                for name in ["registry.db", "registry.db-wal"] {
                    try FileManager.default.copyItem(atPath: "\(scene.folder)/\(name)", toPath: "\(folder)/\(name)")
                }
                let other = try await LedgerScene(folder)
                #expect(other.identities.secret == scene.identities.secret)
                // The lost ledger had events, although the registry does not say how many.
                #expect(other.missing.map(\.newest) == [0])
                #expect(try #require(await other.accept(push("next")).seq) > 1_000_000_000)
                await other.ledger.close()
            }
            await registry.close()
        }
    }

    @Test func `A ledger and a registry of two installations do not open`() async throws {
        try await installation { one in
            try await installation { other in
                let (own, foreign) = ("\(one.folder)/registry.db", "\(other.folder)/registry.db")
                try FileManager.default.moveItem(atPath: own, toPath: own + ".own")
                try FileManager.default.copyItem(atPath: foreign, toPath: own)
                for hasSecret in [true, false] {
                    if !hasSecret { try forgetSecret(in: one.folder) }
                    let error = await #expect(throws: StoreError.self) { try await one.reopenOnly() }
                    #expect(
                        error?.code == .unsuitable && error?.description.contains("not of one installation") == true)
                    #expect(StoreFiles.mismatch(in: one.folder) != nil)
                    #expect(try secret(in: one.folder) == (hasSecret ? other.identities.secret : nil))
                }
                // Nothing has changed.
                try FileManager.default.removeItem(atPath: own)
                try FileManager.default.moveItem(atPath: own + ".own", toPath: own)
                #expect(StoreFiles.mismatch(in: one.folder) == nil)
                try await one.reopenOnly()
                let registry = try await registry(one)
                #expect(try await devices(registry).count == 3)
                await registry.close()
                await one.ledger.close()
                // The registry itself refuses another key, too.
                await #expect(throws: StoreError.self) {
                    try await SQLiteRegistry.open(
                        directory: other.folder, identities: one.identities, note: { _ in nil })
                }
            }
        }
    }

    @Test func `A registry of an earlier version gets the secret, and is not served by a new ledger`() async throws {
        try await installation { scene in
            try forgetSecret(in: scene.folder)
            try await scene.reopenOnly()
            await (try registry(scene)).close()
            #expect(try secret(in: scene.folder) == scene.identities.secret)
            try await scene.reopen()
            await scene.ledger.close()

            try forgetSecret(in: scene.folder)
            try removeLedger(of: scene.folder)
            for _ in 0..<2 {
                let error = await #expect(throws: StoreError.self) { try await scene.reopenOnly() }
                #expect(error?.description.contains("move registry.db* away") == true)
            }
            // The start that was refused has made no ledger.
            let size = try FileManager.default.attributesOfItem(atPath: scene.path)[.size] as? Int
            #expect(size == 0)
            try FileManager.default.removeItem(atPath: "\(scene.folder)/registry.db")
            try await scene.reopenOnly()
            await scene.ledger.close()
        }
    }

    @Test func `A registry without devices is served by any ledger`() async throws {
        try await withLedgerFolder { folder in
            await (try RegistryKeys.open(directory: folder)).close()
            let scene = try await LedgerScene(folder)
            #expect(scene.missing.isEmpty)
            await (try registry(scene)).close()
            #expect(try secret(in: folder) == scene.identities.secret)
            await scene.ledger.close()
        }
    }

    @Test func `A secret that is damaged ends no process`() async throws {
        try await installation { scene in
            try SQLiteConnection("\(scene.folder)/registry.db").run("UPDATE device_secrets SET secret = x'00'")
            let error = await #expect(throws: StoreError.self) { try await scene.reopenOnly() }
            #expect(error?.code == .damaged)
            try forgetSecret(in: scene.folder)
            try await scene.reopenOnly()
            await scene.ledger.close()
        }
    }
}
