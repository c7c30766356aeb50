import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// What only a ledger with several parts, and a database that can be lost, has.
@Suite(.waits) struct PostgreSQLLedgerTests {
    /// A ledger with its witness.
    private struct Opened {
        let ledger: PostgreSQLLedger
        let backlog: LedgerBacklog
        let listener = LedgerListener()

        init(
            _ options: PostgreSQLOptions, adjusting: (inout PostgreSQLLedger.Settings) -> Void = { _ in }
        ) async throws {
            var settings = SharedPostgreSQL.settings(options)
            adjusting(&settings)
            (ledger, backlog) = try await PostgreSQLLedger.openTakingAll(settings)
            await ledger.start(listener)
        }

        func accept(_ requests: [PushRequest]) async -> [Acceptance] {
            await withCheckedContinuation { continuation in
                ledger.accept(requests) { continuation.resume(returning: $0) }
            }
        }

        /// Hands a message in until it is stored, as a producer does.
        func store(_ id: String) async {
            _ = await wait(
                for: { await accept([push(id)])[0] },
                until: { if case .failed = $0 { false } else { true } })
        }

        /// Hands requests in that wait for a database. A test that fails in the meantime does not wait for their answers.
        func accepting(_ requests: [PushRequest]) -> Task<[Acceptance], Never> { Task { await accept(requests) } }

        func load(_ seqs: [UInt64]) async throws -> [AcceptedMessage] {
            try await withCheckedContinuation { continuation in
                ledger.load(seqs) { continuation.resume(returning: $0) }
            }.get()
        }

        /// Records a message as sent and completed.
        func carryOut(_ message: AcceptedMessage) {
            guard case .tokens(let tokens) = message.audience else { return }
            var counts = message.counts
            counts.sent += UInt32(tokens.count)
            let records = tokens.map { token in
                DeliveryRecord(
                    seq: message.seq, fingerprint: message.fingerprint, acceptedAt: message.acceptedAt,
                    message: message.message,
                    device: ledger.identities.device(of: message.message.app, token: token),
                    deliveryID: DeliveryID.derived(app: message.message.app, message: message.message.id, token: token),
                    attempt: 1, outcome: .sent(providerID: nil))
            }
            ledger.record(
                records, completed: [CompletedMessage(seq: message.seq, message: message.message, counts: counts)])
        }

        /// All events of a part, in order.
        func events(of part: Int) async throws -> [SeenEvent] {
            try await ledger.read(since: EventNumber.base(of: part), limit: .max).segments.flatMap { try $0.events() }
        }
    }

    private static func store(parts: Int) async throws -> PostgreSQLOptions {
        try await SharedPostgreSQL.shared.store(parts: parts, at: .current())
    }

    private static func requests(_ range: Range<Int>) -> [PushRequest] { range.map { push("m\($0)") } }

    // MARK: Parts

    @Test func `Messages of one call are accepted by their parts, and known after a restart`() async throws {
        let options = try await Self.store(parts: 64)
        var node = try await Opened(options)
        let accepted = await node.accept(Self.requests(0..<1000))
        let map = try #require(PartitionMap(count: 64))
        for (index, acceptance) in accepted.enumerated() {
            let seq = try #require(acceptance.seq)
            let part = map.partition(of: LedgerScene.shop, try #require(MessageID("m\(index)"))).number
            #expect(EventNumber.part(of: seq) == part)
        }
        #expect(Set(accepted.compactMap(\.seq)).count == 1000)
        let duplicates = accepted.map { Acceptance.duplicate(seq: $0.seq ?? 0) }
        #expect(await node.accept(Self.requests(0..<1000)) == duplicates)
        await node.ledger.close()
        node = try await Opened(options)
        #expect(node.backlog.lanes.flatMap(\.seqs).count == 1000)
        #expect(await node.accept(Self.requests(0..<1000)) == duplicates)
        var waiting = accepted.compactMap(\.seq)
        while !waiting.isEmpty {
            let loaded = try await node.load(waiting)
            try #require(!loaded.isEmpty)
            for message in loaded { node.carryOut(message) }
            let done = Set(loaded.map(\.seq))
            waiting.removeAll { done.contains($0) }
        }
        await node.ledger.flush()
        #expect(await node.ledger.status().waiting == 0)
        await node.ledger.close()
        node = try await Opened(options)
        #expect(node.backlog.lanes.isEmpty)
        #expect(await node.accept(Self.requests(0..<1000)) == duplicates)
        await node.ledger.close()
    }

    @Test func `The events of each part have their own numbers and chains`() async throws {
        let node = try await Opened(try await Self.store(parts: 8))
        for round in 0..<5 { _ = await node.accept(Self.requests((100 * round)..<(100 * round + 100))) }
        for part in 0..<8 {
            let events = try await node.events(of: part)
            let numbers = events.map { EventNumber.within($0.seq) }
            #expect(!events.isEmpty && numbers == Array(1...UInt64(events.count)))
            let previous = events.map { EventNumber.within($0.prev) }
            #expect(previous == Array(0..<UInt64(events.count)))
        }
        await node.ledger.close()
    }

    @Test func `A call may repeat more requests than the ledger keeps keys of`() async throws {
        let node = try await Opened(try await Self.store(parts: 1))
        let requests = Self.requests(0..<6000)
        let accepted = await node.accept(requests).compactMap(\.seq)
        #expect(accepted.count == 6000)
        for _ in 0..<2 { #expect(await node.accept(requests) == accepted.map { .duplicate(seq: $0) }) }
        await node.ledger.close()
    }

    @Test func `Events of all parts are read by a place, page by page`() async throws {
        let node = try await Opened(try await Self.store(parts: 32))
        #expect(node.ledger.partCount == 32)
        let empty = try await node.ledger.bounds()
        #expect(
            empty == (0..<32).map { LogBounds(oldest: EventNumber.base(of: $0) + 1, newest: EventNumber.base(of: $0)) })
        for round in 0..<3 { _ = await node.accept(Self.requests((20 * round)..<(20 * round + 20))) }
        await node.ledger.flush()
        var wanted: Set<UInt64> = []
        for part in 0..<32 { wanted.formUnion(try await node.events(of: part).map(\.seq)) }
        #expect(wanted.count == 60)
        let bounds = try await node.ledger.bounds()
        for (part, bounds) in bounds.enumerated() {
            let own = wanted.filter { EventNumber.part(of: $0) == part }
            let base = EventNumber.base(of: part)
            #expect(bounds == LogBounds(oldest: base + 1, newest: base + UInt64(own.count)))
        }
        let reader = EventReader(log: node.ledger)
        var place = LogPosition()
        var lines: [String] = []
        repeat {
            let page = try await reader.forward(since: place, prefix: "message/", limit: 7)
            #expect(page.lines.count <= 7)
            lines += page.lines.map { String(decoding: $0, as: UTF8.self) }
            place = page.next
            if !page.hasMore { break }
        } while true
        #expect(lines.count == 60 && Set(lines).count == 60)
        let last = try await reader.last(60, prefix: "")
        #expect(Set(last.lines.map { String(decoding: $0, as: UTF8.self) }) == Set(lines))
        #expect(last.next == place && place == last.newest)
        await node.ledger.close()
    }

    // MARK: Fences

    @Test func `A node that has lost its parts writes nothing and answers nothing as accepted`() async throws {
        let options = try await Self.store(parts: 4)
        let lost = EventRecorder<Int>()
        let first = try await Opened(options) { $0.lost = { part, _ in lost.record(part.number) } }
        _ = await first.accept(Self.requests(0..<40))
        let second = try await Opened(options)
        // The first node does not know it yet.
        let late = await first.accept(Self.requests(20..<80))
        for acceptance in late.dropFirst(20) {
            guard case .failed = acceptance else {
                Issue.record("\(acceptance) after the parts were lost")
                continue
            }
        }
        #expect(Set(await lost.wait(count: 4)) == [0, 1, 2, 3])
        let answers = await second.accept(Self.requests(0..<80))
        let known = answers[..<40].count { if case .duplicate = $0 { true } else { false } }
        let new = answers[40...].count { $0.seq != nil }
        #expect(known == 40 && new == 40)
        var topics: [String] = []
        for part in 0..<4 { topics += try await second.events(of: part).map(\.topic) }
        let accepted = topics.count { $0 == "message/shop/accepted" }
        #expect(accepted == 80)
        await first.ledger.close()
        await second.ledger.close()
    }

    // MARK: Lost connections

    /// The commit reaches the server, and its answer is lost. The ledger finds out by storing the group once more.
    @Test(arguments: [CuttingProxy.Direction.requests, .answers])
    func `A commit whose answer is lost is decided upon once`(direction: CuttingProxy.Direction) async throws {
        var options = try await Self.store(parts: 1)
        let server = try await SharedPostgreSQL.shared.server()
        let proxy = try CuttingProxy(to: server.port)
        options.hosts = [PostgreSQLHost(name: "127.0.0.1", port: proxy.port)]
        let node = try await Opened(options)
        #expect(await node.accept([push("before")]) == [.accepted(seq: 1)])
        let seen = proxy.held.events.count
        proxy.hold(direction)
        async let answer = node.accept([push("a"), push("b")])
        await proxy.held.wait(count: seen + 1)
        if direction == .answers {
            // The group is stored, and only its answer is missing.
            let check = try await TestSessions.one(to: options.database)
            try await wait(while: try await check.count("SELECT count(*) FROM carillon.groups") < 2)
            await check.close()
        }
        proxy.cut()
        proxy.release(direction)
        #expect(await answer == [.accepted(seq: 2), .accepted(seq: 3)])
        var again = await node.accept([push("a"), push("c")])
        // All connections were cut, and those that read may come up last.
        while case .failed = again[0] { again = await node.accept([push("a"), push("c")]) }
        #expect(again == [.duplicate(seq: 2), .accepted(seq: 4)])
        let events = await wait(for: { try? await node.events(of: 0) }, until: { $0 != nil })
        let accepted = events?.count { $0.topic == "message/shop/accepted" }
        #expect(accepted == 4)
        #expect(node.listener.messages.map(\.seq) == [1, 2, 3, 4])
        await node.ledger.close()
    }

    @Test func `What was acknowledged outlives kills of the database`() async throws {
        let server = try await PostgreSQLServer.start()
        var options = try PostgreSQLURL.parse(server.url())
        options.connectTimeout = .seconds(30)
        try await StoreTables.create(SharedPostgreSQL.settings(options), parts: 4, at: .current())
        let node = try await Opened(options)
        var numbers: [Int: UInt64] = [:]
        for round in 0..<5 {
            let range = (200 * round)..<(200 * round + 200)
            async let answers = node.accept(Self.requests(range))
            try await server.kill()
            try await server.launch()
            var missing = Array(range)
            for (index, answer) in zip(range, await answers) {
                guard let seq = answer.seq else { continue }
                numbers[index] = seq
                missing.removeAll { $0 == index }
            }
            // What was refused meanwhile is sent again, as producers do.
            while !missing.isEmpty {
                let again = await node.accept(missing.map { push("m\($0)") })
                for (index, answer) in zip(missing, again) {
                    switch answer {
                    case .accepted(let seq), .duplicate(let seq): numbers[index] = seq
                    default: break
                    }
                }
                missing.removeAll { numbers[$0] != nil }
            }
        }
        var answers = await node.accept(Self.requests(0..<1000))
        // The connection that reads earlier ids may come up last.
        while answers.contains(where: { if case .failed = $0 { true } else { false } }) {
            answers = await node.accept(Self.requests(0..<1000))
        }
        #expect(answers == (0..<1000).map { .duplicate(seq: numbers[$0] ?? 0) })
        var topics: [String] = []
        for part in 0..<4 {
            // The connection that reads events may come up last, too.
            let events = await wait(for: { try? await node.events(of: part) }, until: { $0 != nil })
            topics += (events ?? []).map(\.topic)
        }
        let accepted = topics.count { $0 == "message/shop/accepted" }
        #expect(accepted == 1000)
        await node.ledger.close()
    }

    @Test func `While the synchronous standby stands still, nothing is accepted`() async throws {
        let server = try await PostgreSQLServer.start()
        let standby = try await server.standby()
        let options = try PostgreSQLURL.parse(server.url())
        try await StoreTables.create(SharedPostgreSQL.settings(options), parts: 2, at: .current())
        let node = try await Opened(options) {
            $0.session.durability = .replicated
            $0.patience = .seconds(1)
        }
        await node.store("a")
        standby.pause()
        let waiting = node.accepting(Self.requests(0..<10))
        await wait(while: node.listener.health.isEmpty)
        let fault = node.listener.health.last.flatMap { $0 }
        #expect(fault?.description.contains("does not commit") == true)
        let refused = await node.accept([push("later")])
        #expect(refused.compactMap(\.seq).isEmpty)
        #expect(node.listener.messages.count == 1)
        standby.resume()
        #expect(await waiting.value.compactMap(\.seq).count == 10)
        await wait(while: node.listener.health.last != .some(nil))
        await node.store("later")
        await node.ledger.close()
    }

    @Test func `While the disk of the database is full, the fault says so`() async throws {
        let options = try await Self.store(parts: 2)
        let admin = try await TestSessions.one(to: options.database)
        let node = try await Opened(options) { $0.patience = .seconds(1) }
        // The server refuses a write in this way if it cannot extend the file of a table.
        _ = try await admin.call.run(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE 'No space left on device' USING ERRCODE = 'disk_full'; END $$
            """)
        _ = try await admin.call.run(
            "CREATE TRIGGER refuse BEFORE INSERT ON carillon.groups FOR EACH ROW EXECUTE FUNCTION refuse()")
        let waiting = node.accepting([push("a")])
        await wait(while: node.listener.health.isEmpty)
        let fault = try #require(node.listener.health.last.flatMap { $0 })
        #expect(fault.description.contains("No space left on device (SQLSTATE 53100)"))
        _ = try await admin.call.run("DROP TRIGGER refuse ON carillon.groups")
        #expect(await waiting.value.compactMap(\.seq).count == 1)
        await wait(while: node.listener.health.last != .some(nil))
        await node.ledger.close()
        await admin.close()
    }

    @Test func `While the server is refused, the fault says why`() async throws {
        let server = try await PostgreSQLServer.start()
        let options = try PostgreSQLURL.parse(server.url())
        try await StoreTables.create(SharedPostgreSQL.settings(options), parts: 2, at: .current())
        let node = try await Opened(options) { $0.patience = .seconds(1) }
        try await server.execute(
            "ALTER ROLE carillon SET synchronous_commit = 'off'",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'carillon'")
        let waiting = node.accepting([push("a")])
        // The first fault may name the end of the connection.
        await wait(
            while: !node.listener.health.contains(where: {
                $0?.description.contains("synchronous_commit = off") == true
            }))
        try await server.execute("ALTER ROLE carillon RESET synchronous_commit")
        #expect(await waiting.value.compactMap(\.seq).count == 1)
        await wait(while: node.listener.health.last != .some(nil))
        await node.ledger.close()
    }

    @Test func `While the partitions of the tables cannot be made, the fault says why`() async throws {
        let options = try await Self.store(parts: 1)
        let admin = try await TestSessions.one(to: options.database)
        let node = try await Opened(options) { $0.patience = .seconds(1) }
        _ = try await admin.call.run(
            """
            CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE 'permission denied for schema carillon' USING ERRCODE = '42501'; END $$
            """)
        _ = try await admin.call.run(
            "CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION refuse()")
        _ = try await admin.call.run(
            """
            DO $$ DECLARE name text; BEGIN
                FOR name IN SELECT relname FROM pg_class WHERE relname ~ '^(groups|bodies)_[0-9]+$' LOOP
                    EXECUTE 'DROP TABLE carillon.' || name;
                END LOOP;
            END $$
            """)
        let waiting = node.accepting([push("a")])
        await wait(
            while: !node.listener.health.contains(where: {
                $0?.description.contains("cannot add the partitions of its tables") == true
                    && $0?.description.contains("permission denied for schema carillon") == true
            }))
        _ = try await admin.call.run("DROP EVENT TRIGGER refuse")
        #expect(await waiting.value.compactMap(\.seq).count == 1)
        await wait(while: node.listener.health.last != .some(nil))
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A database without tables is named with the command that makes them`() async throws {
        let options = try await SharedPostgreSQL.shared.emptyDatabase()
        let error = await #expect(throws: StoreError.self) {
            _ = try await PostgreSQLLedger.open(SharedPostgreSQL.settings(options))
        }
        #expect(error?.description.contains("has no store; make one with 'carillon store init'") == true)
    }
}
