import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// A standby that is promoted while the old primary goes on, and nodes that reach both.
@Suite(.waits) struct UnfencedPromotionTests {
    /// A node with all connections of a process: the cluster's, the ledger's and the registry's.
    private struct Node {
        let ledger: LedgerNode
        let registry: PostgreSQLRegistry
        let shell: ClusterShell
        let permit = SendingPermit()
        let directory: TemporaryDirectory

        init(_ name: String, _ options: PostgreSQLOptions) async throws {
            var session = PostgreSQLSession.Settings()
            session.durability = .replicated
            let shell = Locked<ClusterShell?>(nil)
            ledger = try await LedgerNode(options) { [session] settings in
                settings.session = session
                settings.node = name
                settings.lost = { part, epoch in shell.withLock { $0 }?.fenced(part, epoch: epoch) }
            }
            registry = try await Self.registry(options, session)
            directory = try TemporaryDirectory()
            // A node that gets no processor for so long loses its parts, which is not the subject.
            var settings = ClusterMember.settings(name, options, lease: .seconds(15), in: directory)
            settings.session = session
            let opened = try await ClusterShell.open(settings, host: ledger.ledger, permit: permit)
            shell.withLock { $0 = opened }
            self.shell = opened
        }

        static func registry(
            _ options: PostgreSQLOptions, _ session: PostgreSQLSession.Settings
        ) async throws -> PostgreSQLRegistry {
            var store = SharedPostgreSQL.settings(options)
            store.session = session
            var settings = PostgreSQLRegistry.Settings(store)
            settings.followEvery = .seconds(3600)
            return try await PostgreSQLRegistry.open(settings, identities: RegistryScene.identities, note: { _ in 1 })
        }

        /// Repeats a request until it is stored, as a producer does. Returns its number.
        func store(_ id: String) async -> UInt64 {
            await wait(for: { await number(of: id) }, until: { $0 != nil }) ?? 0
        }

        private func number(of id: String) async -> UInt64? {
            switch await ledger.accept([push(id)])[0] {
            case .accepted(let seq), .duplicate(let seq): seq
            case .conflict, .expired, .failed, .crowded, .withheld: nil
            }
        }

        /// Reads a message as the router does, which tries again after a fault. Returns nil if it is taken for damaged.
        func read(_ seq: UInt64) async -> AcceptedMessage? {
            let ledger = ledger.ledger
            let last = await wait(
                for: {
                    await withCheckedContinuation { continuation in
                        ledger.load([seq]) { continuation.resume(returning: $0) }
                    }
                },
                until: { result in
                    switch result {
                    case .success(let messages): !messages.isEmpty
                    case .failure(let fault): fault.damaged != nil
                    }
                })
            return try? last.get().first
        }

        func close() async {
            await shell.close()
            await ledger.ledger.close()
            await registry.close()
        }
    }

    @Test func `What only reads moves to the new primary together with what writes`() async throws {
        let primary = try await PostgreSQLServer.start()
        let standby = try await primary.standby()
        let options = try PostgreSQLURL.parse(primary.url(with: [standby]))
        try await StoreTables.create(SharedPostgreSQL.settings(options), parts: 4, at: .current())
        let node = try await Node("a", options)
        let before = await node.store("before")
        let name = try #require(APIKeyName("orders"))
        let now = WallTime.current()
        let key = APIKey(
            id: APIKeyID(random: Array(repeating: 1, count: APIKeyID.length)), name: name, roles: RoleSet([.push]),
            apps: [LedgerScene.shop], createdAt: now, allowsBearer: true)
        await repeated {
            try await node.registry.keys.add(StoredKey(key, bearerDigest: [1], sealedSecret: [2]), at: now)
        }
        try await standby.promote()
        let other = try await standby.standby(named: "other")
        let after = await node.store("after")
        #expect(await node.read(after)?.message.id.text == "after")
        #expect(await node.read(before)?.message.id.text == "before")

        // Another node, which knows the new primary only, revokes the key.
        var session = PostgreSQLSession.Settings()
        session.durability = .replicated
        let second = try await Node.registry(try PostgreSQLURL.parse(standby.url()), session)
        await repeated { _ = try await second.keys.revoke(name, at: now) }
        try await wait(while: try await isValid(name, at: node.registry, now: now))
        // Only commits that wait for the standby for ever are left at the old one.
        try await primary.wait(
            until: "NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'carillon' AND "
                + "wait_event IS DISTINCT FROM 'SyncRep')")
        await second.close()
        await node.close()
        for server in [primary, standby, other] { try await server.kill() }
    }

    /// Repeats a change that the database does not confirm in time, as an operator does. It may have been carried out.
    private func repeated(_ change: () async throws -> Void) async {
        await wait(
            for: {
                do {
                    try await change()
                    return true
                } catch let error as RegistryError {
                    return error.code != .unavailable
                } catch {
                    return false
                }
            }, until: { $0 })
    }

    private func isValid(_ name: APIKeyName, at registry: PostgreSQLRegistry, now: WallTime) async throws -> Bool {
        // The connection may be on its way.
        try? await registry.follow()
        return registry.keys.keys.contains { $0.key.name == name && $0.key.isValid(at: now) }
    }
}
