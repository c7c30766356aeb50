import PushLoop
import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// The API keys that several nodes share.
@Suite(.waits) struct PostgreSQLKeysTests {
    private typealias Scene = RegistryScene

    private static func key(_ name: String, _ number: UInt8, at time: WallTime) throws -> StoredKey {
        var key = APIKey(
            id: APIKeyID(random: Array(repeating: number, count: APIKeyID.length)),
            name: try #require(APIKeyName(name)),
            roles: RoleSet([.push, .register]), apps: [Scene.shop, Scene.news], from: [try AddressRange("10.0.0.0/8")],
            createdAt: time, expiresAt: time + .seconds(3600), allowsBearer: true, rate: 7)
        key.rotatedUntil = nil
        return StoredKey(key, bearerDigest: [1, 0, number], sealedSecret: [2, 0xff, number])
    }

    @Test func `Keys that a node adds, rotates and revokes change on the others`() async throws {
        try await Scene.nodes { one, other, scene in
            let changes = EventRecorder<Int>()
            other.keys.whenChangedElsewhere { changes.record(1) }
            let first = try Self.key("orders", 1, at: scene.now)
            try await one.keys.add(first, at: scene.now)
            #expect(other.keys.keys.isEmpty)
            try await other.follow()
            #expect(other.keys.keys.map(\.key) == [first.key] && changes.events.count == 1)
            #expect(other.keys.keys.first?.bearerDigest == first.bearerDigest)
            #expect(other.keys.keys.first?.sealedSecret == first.sealedSecret)
            let name = try #require(APIKeyName("orders"))
            let next = try Self.key("orders", 2, at: scene.now)
            _ = try await other.keys.rotate(name, until: scene.now + .seconds(60), at: scene.now) { _ in next }
            try await one.follow()
            #expect(one.keys.keys.map(\.key) == other.keys.keys.map(\.key) && one.keys.keys.count == 2)
            let revoked = try await one.keys.revoke(name, at: scene.now)
            #expect(revoked.count == 2)
            try await other.follow()
            #expect(other.keys.keys.allSatisfy { !$0.key.isValid(at: scene.now) } && changes.events.count == 2)
            // The node's own changes are no news.
            try await one.follow()
            let third = try await scene.openStored(try #require(scene.database))
            #expect(third.keys.keys.map(\.key) == one.keys.keys.map(\.key))
            await third.close()
        }
    }

    @Test func `Of two nodes that add the same name at once, one is refused`() async throws {
        try await Scene.nodes { one, other, scene in
            let (now, keys) = (scene.now, try (1...8).map { try Self.key("key-\($0 / 2)", $0, at: scene.now) })
            let refused = EventRecorder<KeyBookFault>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, key) in keys.enumerated() {
                    let book = number % 2 == 0 ? one.keys : other.keys
                    group.addTask {
                        do {
                            try await book.add(key, at: now)
                        } catch let fault as KeyBookFault {
                            refused.record(fault)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await one.follow()
            try await other.follow()
            #expect(refused.events.count == 3 && one.keys.keys.count == 5)
            #expect(one.keys.keys.map(\.key) == other.keys.keys.map(\.key))
        }
    }

    @Test func `All nodes have the sealing key of the first one that made it`() async throws {
        try await Scene.nodes { one, other, _ in
            #expect(try await one.keyBook.sealingKey() == nil)
            async let first = one.keyBook.keep(sealingKey: Array(repeating: 1, count: 32))
            async let second = other.keyBook.keep(sealingKey: Array(repeating: 2, count: 32))
            let kept = try await [first, second]
            #expect(kept[0] == kept[1] && kept[0].count == 32)
            #expect(try await other.keyBook.sealingKey() == kept[0])
        }
    }
}
