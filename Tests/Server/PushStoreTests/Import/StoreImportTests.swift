import Foundation
import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// The import of a single node's directory, compared with what the node would do itself.
@Suite(.waits) struct StoreImportTests {
    private static let shop = LedgerScene.shop
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func store(parts: Int, at time: Int64) async throws -> PostgreSQLOptions {
        try await SharedPostgreSQL.shared.store(parts: parts, at: WallTime(milliseconds: time))
    }

    private func importing(
        into store: PostgreSQLOptions, at time: Int64, sealing: [UInt8]? = nil, webhooks: [ImportedWebhook] = []
    ) async throws -> StoreImport.Summary {
        try await StoreImport(
            StoreAccess(store, durability: .single, resolver: { [$0.name] }), from: directory.path, sealing: sealing,
            webhooks: webhooks, clock: { WallTime(milliseconds: time) }
        ).run()
    }

    private static func query(_ sql: String, _ options: PostgreSQLOptions) async throws -> String {
        try await SharedPostgreSQL.shared.server().execute("\\connect \(options.database)", sql)
    }

    private static func events(of scene: LedgerScene) async throws -> [SeenEvent] {
        var found: [SeenEvent] = []
        for bounds in try await scene.ledger.bounds() {
            let part = EventNumber.base(of: EventNumber.part(of: bounds.newest))
            found += try await scene.ledger.read(since: part, limit: .max).segments.flatMap { try $0.events() }
        }
        return found
    }

    /// What an event says, without its number.
    private static func content(_ event: SeenEvent) -> String {
        "\(event.time) \(event.topic) \(event.message ?? "-") \(event.device.map { "\($0)" } ?? "-") "
            + "\(event.reason ?? "-") \(event.details ?? "-")"
    }

    /// The messages that waited when the ledger was opened. One answer has those of few rows.
    private static func messages(of scene: LedgerScene) async throws -> [AcceptedMessage] {
        var found: [AcceptedMessage] = []
        for seq in scene.backlog.lanes.flatMap(\.seqs).sorted() { found += try await scene.load([seq]) }
        return found
    }

    private static func summary(_ message: AcceptedMessage) -> String {
        "\(message.message.app) \(message.message.id) \(message.message.type.word) \(message.message.priority) "
            + "\(message.message.expiry) \(String(decoding: message.message.payload, as: UTF8.self)) "
            + "\(message.audience) \(message.acceptedAt.milliseconds) \(message.counts)"
    }

    // MARK: Messages

    @Test(arguments: [1, 5, 64])
    func `Waiting, scheduled and done messages go on in a cluster as on the node`(parts: Int) async throws {
        let scene = try await LedgerScene(directory.path)
        let start = scene.now
        // Done: repeated requests are duplicates, and their devices get nothing more.
        for number in 0..<40 {
            _ = await scene.accept(push("done\(number)", to: [number, number + 1]))
            scene.advance(.milliseconds(700))
            if let message = scene.listener.messages.last { scene.carryOut(message) }
            await scene.settled()
        }
        // Half sent: two of three devices have an outcome.
        _ = await scene.accept((0..<40).map { push("half\($0)", to: [1, 2, 3]) })
        let half = scene.listener.messages.filter { $0.message.id.text.hasPrefix("half") }
        _ = await scene.claim(
            half.map {
                ClaimPage(
                    seq: $0.seq, fingerprint: $0.fingerprint, devices: [token(1), token(2)].map { scene.device($0) })
            })
        for message in half { scene.ledger.record(scene.sent(message, [token(1), token(2)]), completed: []) }
        await scene.settled()
        // In rows with finished ones, and in rows of their own.
        _ = await scene.accept((0..<60).map { push("wait\($0)", to: [$0], priority: $0 % 2 == 0 ? nil : .five) })
        let some = scene.listener.messages.filter { $0.message.id.text.hasPrefix("wait") }.prefix(20)
        for message in some { scene.carryOut(message) }
        _ = await scene.accept((0..<20).map { push("later\($0)", to: [1, 2], notBefore: start + 3600 + Int64($0)) })
        for number in 0..<10 { _ = scene.cancel("half\(number)") }
        await scene.settled()
        for order in scene.listener.orders { scene.end(order) }
        await scene.settled()
        let known = scene.cancel("half3")
        _ = await scene.accept(push("done1", to: [1, 2]))
        #expect(await scene.pause(Self.shop, since: WallTime(milliseconds: 1_600_000_000_000)) == nil)
        await scene.settled()
        try await scene.reopen()
        let expected = try await Self.messages(of: scene).map { Self.summary($0) }
        let expectedEvents = try await Self.events(of: scene)
        let time = scene.time
        await scene.ledger.close()

        let options = try await store(parts: parts, at: time)
        let summary = try await importing(into: options, at: time)
        #expect(summary.inAllPartitions == 0 && summary.events == expectedEvents.count)
        let cluster = try await LedgerScene(of: options, at: time)
        let found = try await Self.messages(of: cluster)
        let summaries = Set(found.map { Self.summary($0) })
        #expect(summaries.symmetricDifference(expected) == [] && found.count == expected.count)
        #expect(expected.count == 30 + 40)
        // The device that had an outcome gets nothing, and the third one does.
        for message in found where message.message.id.text.hasPrefix("half") {
            let page = ClaimPage(
                seq: message.seq, fingerprint: message.fingerprint,
                devices: [1, 2, 3].map { cluster.device(token($0)) })
            #expect(await cluster.claim([page]) == [[.done, .done, .new]])
        }
        // Each id is known, wherever it was when the node stopped.
        for (prefix, count, tokens) in [("done", 40, 2), ("half", 40, 3), ("wait", 60, 1), ("later", 20, 2)] {
            for number in 0..<count {
                let to: [Int] =
                    switch prefix {
                    case "done": [number, number + 1]
                    case "wait": [number]
                    default: Array([1, 2, 3].prefix(tokens))
                    }
                let again = push(
                    "\(prefix)\(number)", to: to, priority: prefix == "wait" && number % 2 == 1 ? .five : nil,
                    notBefore: prefix == "later" ? start + 3600 + Int64(number) : nil)
                let acceptance = await cluster.accept(again)
                guard case .duplicate(let seq) = acceptance else {
                    Issue.record("\(prefix)\(number) is \(acceptance)")
                    continue
                }
                #expect(
                    EventNumber.part(of: seq)
                        == PartitionMap(count: parts)?.partition(of: Self.shop, again.message.id).number)
            }
        }
        // A new audience of a known id gets only the devices that had nothing.
        let wider = await cluster.accept(push("done7", to: .tokens([token(7), token(8), token(9)]), again: true))
        let seq = try #require(wider.seq)
        let page = ClaimPage(
            seq: seq, fingerprint: cluster.fingerprint("done7"), devices: [7, 8, 9].map { cluster.device(token($0)) })
        #expect(await cluster.claim([page]) == [[.had, .had, .new]])
        // Cancelled ids stay cancelled.
        let answer = cluster.cancel("half3")
        await cluster.settled()
        #expect(answer.value == known.value && known.value != nil)
        // Scheduled messages are due at their times.
        #expect(try await cluster.due(at: start + 3599).messages.isEmpty)
        #expect(try await cluster.due(at: start + 3600 + 30).messages.count == 20)
        #expect(cluster.backlog.paused == [Self.shop: WallTime(milliseconds: 1_600_000_000_000)])
        await cluster.ledger.close()
    }

    // MARK: Events

    @Test func `A webhook goes on in each part before all events that it has not delivered`() async throws {
        let scene = try await LedgerScene(directory.path)
        for round in 0..<12 {
            _ = await scene.accept((0..<20).map { push("m\(round)-\($0)", to: [$0, $0 + 1]) })
            for message in scene.listener.messages.suffix(20) { scene.carryOut(message) }
            await scene.settled()
            scene.advance(.seconds(round == 6 ? 86_400 : 1))
        }
        await scene.settled()
        let before = try await Self.events(of: scene)
        let time = scene.time
        await scene.ledger.close()
        let newest = try #require(before.last?.seq)
        let positions = stride(from: 0, to: newest, by: 37).map { $0 } + [newest, newest + 100]
        let webhooks = positions.map { position in
            ImportedWebhook("at-\(position)", position: position, standing: position == 0 ? "paused" : "active") {
                "\($0)"
            }
        }
        let options = try await store(parts: 5, at: time)
        #expect(try await importing(into: options, at: time, webhooks: webhooks).webhooks == positions.count)
        let cluster = try await LedgerScene(of: options, at: time)
        let after = try await Self.events(of: cluster)
        for (position, webhook) in zip(positions, webhooks) {
            let parts = try await cluster.places(of: webhook.name)
            #expect(parts.count == 5)
            let left = after.filter { $0.seq > parts[EventNumber.part(of: $0.seq)] ?? .max }.map(Self.content)
            // A position beyond the end is that of a log that was replaced.
            let expected = before.filter { position > newest || $0.seq > position }.map(Self.content)
            #expect(Set(expected).subtracting(left).isEmpty, "after \(position)")
            // What is delivered again was near: a round has 120 events.
            #expect(left.count - expected.count < 120, "after \(position)")
            if expected.isEmpty { #expect(left.isEmpty) }
        }
        #expect(
            try await Self.query(
                "SELECT app FROM carillon.app_marks WHERE kind = 'webhook' AND author = 'paused'", options) == "at-0")
        await cluster.ledger.close()
    }

    @Test func `All events are imported once, in chains that have no gaps`() async throws {
        let scene = try await LedgerScene(directory.path)
        for day in 0..<4 {
            _ = await scene.accept((0..<50).map { push("m\(day)-\($0)", to: [$0, $0 + 1]) })
            for message in scene.listener.messages.suffix(50) { scene.carryOut(message) }
            await scene.settled()
            var event = EventDraft(.connectionUp, app: Self.shop)
            event.add("detail", text: "day \(day)")
            _ = await scene.note([event])
            scene.advance(.seconds(86_400))
        }
        await scene.settled()
        let before = try await Self.events(of: scene)
        let time = scene.time
        await scene.ledger.close()
        let options = try await store(parts: 7, at: time)
        #expect(try await importing(into: options, at: time).events == before.count)
        let cluster = try await LedgerScene(of: options, at: time)
        #expect(await cluster.accept(push("new")).seq != nil)
        await cluster.settled()
        let after = try await Self.events(of: cluster)
        #expect(
            after.dropLast(0).filter { $0.message != "new" }.map(Self.content).sorted()
                == before.map(Self.content).sorted())
        for part in 0..<7 {
            let own = after.filter { EventNumber.part(of: $0.seq) == part }
            let base = EventNumber.base(of: part)
            #expect(own.map(\.seq) == (0..<UInt64(own.count)).map { base + 1 + $0 })
            var last: [String: UInt64] = [:]
            for event in own {
                #expect(event.prev == last[event.topic] ?? 0)
                last[event.topic] = event.seq
            }
            // A message is accepted before anything else happens to it.
            var accepted: Set<String> = []
            for event in own {
                guard let message = event.message else { continue }
                if event.topic.hasSuffix("/accepted") { accepted.insert(message) }
                #expect(accepted.contains(message))
            }
        }
        #expect(try await Self.query("SELECT count(DISTINCT day) FROM carillon.groups", options) == "5")
        // The reports of apps find imported deliveries.
        let id = DeliveryID.derived(app: Self.shop, message: MessageID("m3-7")!, token: token(8))
        let reader = try #require(cluster.ledger as? PostgreSQLLedger)
        let device = cluster.device(token(8))
        #expect(
            try await reader.sent([id])[id] == SentDelivery(app: Self.shop, message: MessageID("m3-7")!, device: device)
        )
        await cluster.ledger.close()
    }

    @Test func `Ids whose events are gone are recognized in all partitions`() async throws {
        let scene = try await LedgerScene(directory.path)
        scene.retention.logAge = .seconds(60)
        _ = await scene.accept((0..<30).map { push("old\($0)", to: [$0, $0 + 1]) })
        for message in scene.listener.messages { scene.carryOut(message) }
        await scene.settled()
        scene.advance(.seconds(600))
        await scene.trim()
        _ = await scene.accept(push("fresh"))
        await scene.settled()
        let accepted = try await Self.events(of: scene).filter { $0.topic.hasSuffix("/accepted") }
        #expect(accepted.map(\.message) == ["fresh"])
        let time = scene.time
        await scene.ledger.close()
        let options = try await store(parts: 5, at: time)
        let summary = try await importing(into: options, at: time)
        #expect(summary.inAllPartitions == 30 && summary.remembered == 31 && summary.waiting == 1)
        let cluster = try await LedgerScene(of: options, at: time)
        for number in 0..<30 {
            guard case .duplicate = await cluster.accept(push("old\(number)", to: [number, number + 1])) else {
                Issue.record("old\(number) is not recognized")
                continue
            }
        }
        // Numbers without events are passed over by readers.
        #expect(try await Self.events(of: cluster).first { $0.message == "fresh" } != nil)
        let wider = try #require(
            await cluster.accept(push("old7", to: .tokens([token(7), token(8), token(9)]), again: true)).seq)
        let page = ClaimPage(
            seq: wider, fingerprint: cluster.fingerprint("old7"), devices: [7, 8, 9].map { cluster.device(token($0)) })
        #expect(await cluster.claim([page]) == [[.had, .had, .new]])
        await cluster.ledger.close()
    }

    // MARK: Registry

    @Test func `Devices, their state and API keys are imported`() async throws {
        let scene = try await LedgerScene(directory.path)
        let identities = scene.ledger.identities
        let registry = try await SQLiteRegistry.open(
            directory: directory.path, identities: identities, note: { _ in nil },
            now: { [clock = scene.clock] in WallTime(milliseconds: clock.withLock { $0 }) })
        for number in 0..<2500 {
            var registration = DeviceRegistration(app: Self.shop, token: token(number))
            registration.user = "user\(number % 100)"
            registration.tags = ["all", "t\(number % 3)", "größe"]
            _ = try await registry.register([registration])
        }
        scene.advance(.seconds(10))
        let dead = identities.device(of: Self.shop, token: token(5))
        // The registry has not applied this event when the node stops.
        _ = await scene.note([
            .deactivated(
                Deactivation(
                    of: dead, app: Self.shop, reason: "Unregistered", evidence: WallTime(milliseconds: scene.time)))
        ])
        await scene.settled()
        let key = StoredKey(
            APIKey(
                id: APIKeyID("abcdefgh")!, name: APIKeyName("orders")!, roles: RoleSet([.push]), apps: nil,
                from: [], createdAt: WallTime(milliseconds: 1), expiresAt: nil, allowsBearer: true, rate: 5),
            bearerDigest: [1, 2, 3], sealedSecret: [4, 5, 6])
        try await registry.keyBook.add(key, at: .current())
        await registry.close()
        let time = scene.time
        await scene.ledger.close()
        let options = try await store(parts: 3, at: time)
        let summary = try await importing(into: options, at: time, sealing: Array(repeating: 7, count: 32))
        #expect(summary.devices == 2500 && summary.keys == 1)
        let imported = try await PostgreSQLRegistry.open(
            PostgreSQLRegistry.Settings(SharedPostgreSQL.settings(options)), identities: identities, note: { _ in nil })
        #expect(imported.status.registered == 2500 && imported.status.inactive == 1)
        #expect(imported.inactive.contains(dead))
        let id = identities.device(of: Self.shop, token: token(7))
        let record = try #require(try await imported.device(id))
        #expect(record.user == "user7" && record.tags == ["all", "größe", "t1"] && record.registeredAt != nil)
        #expect(imported.keys.keys.map(\.key.name.text) == ["orders"])
        #expect(imported.keys.keys.first?.sealedSecret == [4, 5, 6])
        await imported.close()
        #expect(try await Self.query("SELECT encode(sealing, 'hex') FROM carillon.store", options).hasPrefix("0707"))
    }

    // MARK: Failures

    @Test(arguments: ["INSERT ON carillon.device_counts", "UPDATE ON carillon.store"])
    func `An import that fails is repeated, and no node uses the store before`(event: String) async throws {
        let scene = try await LedgerScene(directory.path)
        _ = await scene.accept((0..<20).map { push("m\($0)", to: [$0]) })
        let registry = try await SQLiteRegistry.open(
            directory: directory.path, identities: scene.ledger.identities, note: { _ in nil })
        _ = try await registry.register([DeviceRegistration(app: Self.shop, token: token(1))])
        await registry.close()
        let (time, settings) = (scene.time, scene.settings)
        await scene.ledger.close()
        let options = try await store(parts: 3, at: time)
        // The first one refuses the devices, and the second one the last step, after the mark.
        let condition = event.hasPrefix("UPDATE") ? "WHEN (new.version = \(StoreSchema.version))" : ""
        _ = try await Self.query(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'refused by the test'; END $$;
            CREATE TRIGGER refuse BEFORE \(event) FOR EACH ROW \(condition) EXECUTE FUNCTION refuse()
            """, options)
        for _ in 0..<2 {
            let failure = await #expect(throws: StoreError.self) { _ = try await importing(into: options, at: time) }
            #expect(failure?.description.contains("refused by the test") == true)
            let access = StoreAccess(options, durability: .single, resolver: { [$0.name] })
            let faults = await StoreCheck(access).report().faults
            #expect(faults.count == 1 && faults[0].contains("an import into the store has not ended"), "\(faults)")
            let node = await #expect(throws: StoreError.self) { _ = try await LedgerNode(options) }
            #expect(node?.description.contains("has not ended") == true)
        }
        if event.hasPrefix("UPDATE") {
            await #expect(throws: StoreError.self) { _ = try await SQLiteLedger.open(settings) }
        } else {
            // The node can go on alone, if the operator gives the import up.
            let (ledger, backlog) = try await SQLiteLedger.open(settings)
            #expect(backlog.lanes.flatMap(\.seqs).count == 20)
            await ledger.close()
        }
        _ = try await Self.query("DROP FUNCTION refuse() CASCADE", options)
        let summary = try await importing(into: options, at: time)
        #expect(summary.waiting == 20 && summary.devices == 1 && summary.remembered == 20)
        let cluster = try await LedgerScene(of: options, at: time)
        #expect(try await Self.messages(of: cluster).count == 20)
        #expect(try await Self.events(of: cluster).filter { $0.topic.hasSuffix("/accepted") }.count == 20)
        await cluster.ledger.close()
    }

    // MARK: Mistakes

    @Test func `A directory is imported once, and no single node serves it afterward`() async throws {
        let scene = try await LedgerScene(directory.path)
        _ = await scene.accept(push("a"))
        let (time, settings) = (scene.time, scene.settings)
        await scene.ledger.close()
        let options = try await store(parts: 2, at: time)
        _ = try await importing(into: options, at: time)
        let refused = await #expect(throws: StoreError.self) { _ = try await SQLiteLedger.open(settings) }
        #expect(refused?.description.contains("was imported into the store of a cluster") == true)
        #expect(refused?.description.contains("\(options)") == true)
        let again = await #expect(throws: StoreError.self) { _ = try await importing(into: options, at: time) }
        #expect(again?.description.contains("was imported into") == true)
        let other = try await store(parts: 2, at: time)
        let elsewhere = await #expect(throws: StoreError.self) { _ = try await importing(into: other, at: time) }
        #expect(elsewhere?.description.contains("name that store to repeat") == true)
        #expect(try await Self.query("SELECT count(*) FROM carillon.groups", other) == "0")
    }

    @Test func `A store that was used, or has none of its tables, is refused`() async throws {
        let scene = try await LedgerScene(directory.path)
        let time = scene.time
        await scene.ledger.close()
        let used = try await store(parts: 2, at: time)
        _ = try await Self.query("UPDATE carillon.leases SET epoch = 1 WHERE part = 1", used)
        let first = await #expect(throws: StoreError.self) { _ = try await importing(into: used, at: time) }
        #expect(first?.description.contains("is not new: nodes have joined it") == true)
        let empty = try await SharedPostgreSQL.shared.emptyDatabase()
        let second = await #expect(throws: StoreError.self) { _ = try await importing(into: empty, at: time) }
        #expect(second?.description.contains("has no store; make one") == true)
        // Nothing was marked.
        let fine = try await store(parts: 2, at: time)
        _ = try await importing(into: fine, at: time)
    }
}

extension LedgerScene {
    /// The position of a webhook in each part, of a cluster.
    fileprivate func places(of name: String) async throws -> [Int: UInt64] {
        let ledger = try #require(ledger as? PostgreSQLLedger)
        return try await ledger.webhookParts(of: name).compactMapValues { UInt64($0.record) }
    }
}
