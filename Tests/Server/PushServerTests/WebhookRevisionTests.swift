import PushAPI
import PushConfiguration
import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushServer
@testable import PushStore

/// A webhook of a cluster on a real database, in the moment between two decisions.
@Suite(.waits) struct WebhookRevisionTests {
    private static let mark = "FROM carillon.app_marks WHERE app = 'billing' AND kind = 'webhook'"
    private static let part = "FROM carillon.app_marks WHERE app = 'billing' AND kind = 'webhook-part'"

    private struct Scene {
        let server: PostgreSQLServer
        let ledger: PostgreSQLLedger
        let directory: TemporaryDirectory
        let loop = EventLoop(name: "test")
        let files = BlockingPool(name: "files", threadCount: 1, queueLimit: 16)

        let proxy: CuttingProxy

        init() async throws {
            server = try await PostgreSQLServer.start(settings: ["max_prepared_transactions": "4"])
            proxy = try CuttingProxy(to: server.port)
            directory = try TemporaryDirectory()
            let url = "postgres://\(PostgreSQLServer.user)@127.0.0.1:\(proxy.port)/\(PostgreSQLServer.database)"
            var settings = PostgreSQLLedger.Settings(try PostgreSQLURL.parse(url), resolver: { [$0.name] })
            settings.session.durability = .single
            settings.patience = .seconds(3600)
            try await StoreTables.create(settings, parts: 1, at: .current())
            (ledger, _) = try await PostgreSQLLedger.openTakingAll(settings)
        }

        /// A webhook whose receiver has answered 410, which is not stored yet.
        func disabled() async throws -> Webhook {
            var record = WebhookRecord(after: 0)
            try await ledger.addWebhook("billing", records: [(part: 0, record: try record.text)])
            let secret = try directory.write("secret", containing: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
            let address = try #require(HTTP1Address("https://billing.example"))
            let settings = Configuration.Webhook(
                name: "billing", address: address, prefixes: ["device/"], secretFile: secret)
            let loaded = try LoadedWebhook(settings, contexts: TLSContexts())
            record.standing = .disabled
            let open = try #require(ledger.openParts.first)
            let parts = Webhook.Dependencies(
                ledger, CommittedEvents(), on: loop, files: files, log: Logger("webhook", to: LogOutput(level: .error)),
                wallClock: WallTime.current
            ) { _ in }
            return Webhook(
                loaded, machine: WebhookMachine(record, isStored: false),
                at: WebhookPartPlace(name: "billing", part: open, ledger: ledger), parts: parts)
        }

        func close() async throws {
            await ledger.close(within: .zero)
            await loop.shutDown()
            await files.shutDown()
            try await server.stop()
        }
    }

    @Test func `A resumption that comes while the answer 410 is being stored counts`() async throws {
        let scene = try await Scene()
        let webhook = try await scene.disabled()
        // The row of the part is locked until there is another one.
        async let lock = scene.server.execute(
            """
            DO $$ BEGIN
                PERFORM author \(Self.part) FOR UPDATE;
                WHILE NOT EXISTS (SELECT FROM carillon.app_marks WHERE kind = 'released') LOOP
                    PERFORM pg_sleep(0.01);
                END LOOP;
            END $$
            """)
        let waits = "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%released%')"
        try await scene.server.wait(until: waits)
        await webhook.begin()
        let blocked = "wait_event_type = 'Lock' AND query LIKE '%carillon.app_marks%'"
        try await scene.server.wait(until: "EXISTS (SELECT FROM pg_stat_activity WHERE \(blocked))")

        // As another node does it, and as this one follows.
        try await scene.server.execute(
            "UPDATE carillon.app_marks SET number = number + 1 WHERE app = 'billing' AND kind = 'webhook'")
        await webhook.follow(.active, changes: 1)
        try await scene.server.execute(
            "INSERT INTO carillon.app_marks (app, kind, since) VALUES ('', 'released', 0)")
        _ = try await lock
        try await scene.server.wait(until: "(SELECT author \(Self.part)) LIKE '%\"active\"%'")
        #expect(try await scene.server.execute("SELECT author, number \(Self.mark)") == "active|1")
        await webhook.stop()
        try await scene.close()
    }

    @Test func `An answer 410 that no operator has overtaken disables the webhook`() async throws {
        let scene = try await Scene()
        let webhook = try await scene.disabled()
        await webhook.begin()
        try await scene.server.wait(until: "(SELECT author \(Self.mark)) = 'disabled'")
        #expect(try await scene.server.execute("SELECT author, number \(Self.mark)") == "disabled|1")
        // The mark is read like that of another node.
        await webhook.follow(.disabled, changes: 1)
        #expect(await webhook.answer.state == .disabled)
        await webhook.stop()
        try await scene.close()
    }

    @Test func `A disabling that the database has done and not confirmed is news once`() async throws {
        let scene = try await Scene()
        var record = WebhookRecord(after: 0)
        try await scene.ledger.addWebhook("billing", records: [(part: 0, record: try record.text)])
        record.standing = .disabled
        let open = try #require(scene.ledger.openParts.first)
        let place = WebhookPartPlace(name: "billing", part: open, ledger: scene.ledger)
        // The mark is locked, so that the answer comes when the proxy holds it back.
        try await scene.server.execute(
            "BEGIN", "SELECT author \(Self.mark) FOR UPDATE", "PREPARE TRANSACTION 'lock'")
        let first = Task { [record] in try await place.write(record, at: WebhookRevision()) }
        let blocked = "wait_event_type = 'Lock' AND query LIKE '%carillon.app_marks%'"
        try await scene.server.wait(until: "EXISTS (SELECT FROM pg_stat_activity WHERE \(blocked))")
        scene.proxy.hold(.answers)
        try await scene.server.execute("COMMIT PREPARED 'lock'")
        try await scene.server.wait(until: "(SELECT author \(Self.mark)) = 'disabled'")
        scene.proxy.cut()
        await #expect(throws: StoreError.self) { try await first.value }
        // This node may have read the mark by now.
        var news: [Bool] = []
        while news.count < 2 {
            do {
                news.append(try await place.write(record, at: WebhookRevision(changes: Int64(news.count))))
            } catch is StoreError {
                await pace()
            }
        }
        #expect(news == [true, false])
        #expect(try await scene.server.execute("SELECT author, number \(Self.mark)") == "disabled|1")
        try await scene.close()
    }
}
