import Foundation
import PushLoop
import PushModel
import PushTime
import PushWire
import TestSupport
import Testing

@testable import PushStore

@Suite struct TraceTests {
    @Test(arguments: [1, 3, 500, 1700]) func `A trace run finds every row of every name, and few others`(names: Int)
        throws
    {
        var random = SeededRandom(seed: UInt64(names))
        var builder = TraceRunBuilder()
        var writer = LogWriter(next: 77)
        var rows: [String: Set<UInt64>] = [:]
        var devices: [DeviceID: Set<UInt64>] = [:]
        for _ in 0..<200 {
            writer.begin(time: 0, reserving: 100)
            let first = writer.next
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                var draft = EventDraft(.deviceRegistered, app: LedgerScene.shop)
                let name = Int.random(in: 0..<names, using: &random)
                if Bool.random(using: &random) {
                    draft.messageID = MessageID("m\(name)")
                    rows["m\(name)", default: []].insert(first)
                } else {
                    let device = DeviceID(high: 1, low: UInt64(name) &* 0x9e37_79b9_7f4a_7c15)
                    draft.device = device
                    devices[device, default: []].insert(first)
                }
                writer.add(draft, at: 0)
            }
            try builder.add(writer.finish())
        }
        let run = try #require(builder.finish())
        #expect(run.first == 77)
        #expect(run.last == writer.next - 1)
        for (name, firsts) in rows { #expect(look(.message(MessageID(name)!), run) == firsts.sorted()) }
        for (device, firsts) in devices { #expect(look(.device(device), run) == firsts.sorted()) }
        #expect(try #require(look(.message(MessageID("unknown")!), run)).count <= 1)
    }

    private func look(_ subject: TraceSubject, _ run: TraceRun) -> [UInt64]? {
        let hash = TraceRun.hash(subject)
        var places: [Int] = []
        for block in run.lows.withUnsafeBytes({ TraceRun.blocks(of: hash, in: $0) }) {
            let low = run.lows.withUnsafeBytes { $0.word(at: 8 * block) }
            let isSound = run.block(block).withUnsafeBytes { TraceRun.places(of: hash, in: $0, low: low, &places) }
            #expect(isSound)
        }
        return run.rowNumbers.withUnsafeBytes { TraceRun.rows(places, in: $0) }
    }

    @Test func `Messages and devices are traced through runs and the log after them`() async throws {
        try await withLedger { scene in
            let old = push("old", to: [1, 5])
            _ = await scene.accept([old, push("other", to: [1])])
            for message in scene.listener.messages { scene.carryOut(message) }
            await scene.settled()
            let fill = EventDraft(.connectionUp, app: nil)
            func events(_ subject: TraceSubject, limit: Int = 100) async throws -> [SeenEvent] {
                let segments = try await scene.ledger.trace(subject, limit: limit)
                #expect(segments.map(\.first) == segments.map(\.first).sorted())
                return try segments.flatMap { try $0.events() }.filter { event in
                    switch subject {
                    case .message(let id, _): event.message == id.text
                    case .device(let device): event.device == device
                    }
                }
            }
            let message = TraceSubject.message(MessageID("old")!)
            let device = TraceSubject.device(scene.device(token(1)))
            for round in 0..<3 {
                let told = try await events(message)
                #expect(
                    told.map(\.topic).prefix(4) == [
                        "message/shop/accepted", "delivery/shop/sent", "delivery/shop/sent", "message/shop/completed",
                    ])
                #expect(try await events(device).count == 2 + round)
                #expect(try await events(.message(MessageID("none")!)).isEmpty)
                if round == 0 {
                    let few = try await scene.ledger.trace(message, limit: 1)
                    #expect(few.count == 1)
                }
                // Write more events than a run has, until the run is stored.
                for _ in 0..<36 { _ = await scene.note(Array(repeating: fill, count: 4000)) }
                while try await runs(scene) <= round { _ = await scene.note([fill]) }
                var seen = EventDraft(.deviceReactivated, app: LedgerScene.shop)
                seen.device = scene.device(token(1))
                _ = await scene.note([seen])
                if round == 1 { try await scene.reopen() }
            }
            // Runs are trimmed with their rows.
            scene.retention.logBytes = 1
            await scene.trim()
            #expect(try await runs(scene) <= 1)
            #expect(try await events(message).isEmpty)
        }
    }

    private func update(_ id: String, of activity: String) -> PushRequest {
        let message = Message(
            id: MessageID(id)!, app: LedgerScene.shop, type: MessageType(7, word: "liveactivity"), kind: .activity,
            payload: [1], activity: ActivityPart(.update, isStamped: false))
        return PushRequest(message, to: .activities([activity]))
    }

    private struct Story: Equatable {
        var lines: [String] = []
        var isComplete = true
    }

    private func story(
        of activity: String, in scene: LedgerScene, since: WallTime = .distantPast
    ) async throws -> Story {
        let found = try await TraceSearch(log: scene.ledger, span: since ... .distantFuture).activity(
            activity, of: LedgerScene.shop, startedBy: nil, addresses: [])
        return Story(lines: found.lines.map { String(decoding: $0, as: UTF8.self) }, isComplete: found.isComplete)
    }

    @Test func `A message to two Live Activities is in the stories of both, and later events of it are found`()
        async throws
    {
        try await withLedger { scene in
            let accepted = await scene.accept([update("goal", of: "home"), update("goal", of: "away")])
            #expect(accepted.compactMap(\.seq).count == 2)
            for (name, other) in [("home", "away"), ("away", "home")] {
                let own = try await story(of: name, in: scene)
                #expect(own.isComplete && own.lines.count == 1)
                #expect(own.lines.allSatisfy { $0.contains("\"\(name)\"") && !$0.contains("\"\(other)\"") })
                var filter = MessageHistory.Filter()
                filter.activity = name
                let page = try await MessageHistory(log: scene.ledger).list(filter, before: nil, limit: 10)
                #expect(page.messages.map(\.request.activities) == [["home", "away"]])
            }
            #expect(try await story(of: "none", in: scene) == Story())
            // What happens later to a message that was accepted before.
            scene.advance(.seconds(60))
            let later = WallTime(milliseconds: scene.time)
            #expect(try await story(of: "home", in: scene, since: later) == Story())
            let first = try #require(scene.listener.messages.first)
            scene.ledger.record([], completed: [scene.completed(first)])
            await scene.settled()
            let rest = try await story(of: "home", in: scene, since: later)
            #expect(rest.isComplete && rest.lines.count == 1)
            #expect(rest.lines.allSatisfy { $0.contains("\"completed\"") })
        }
    }

    @Test func `The story of a Live Activity has its newest messages, and says that it lacks others`() async throws {
        try await withLedger { scene in
            let count = TraceSearch.maxMessages + 20
            for number in 0..<count { _ = await scene.accept(update("m-\(number)-", of: "home")) }
            let home = try await story(of: "home", in: scene)
            #expect(!home.isComplete && home.lines.count == TraceSearch.maxMessages)
            #expect(home.lines.first?.contains("\"m-20-\"") == true)
            #expect(home.lines.last?.contains("\"m-\(count - 1)-\"") == true)
        }
    }

    /// A damaged row of the log may have events of any subject, also where a run covers those around it.
    @Test(arguments: [2, 100_000, 150_000] as [UInt64])
    func `A look-up that skips a damaged segment is not complete`(place: UInt64) async throws {
        try await withLedger { scene in
            let fill = EventDraft(.connectionUp, app: nil)
            _ = await scene.accept(push("first"))
            for _ in 0..<40 { _ = await scene.note(Array(repeating: fill, count: 4000)) }
            while try await runs(scene) == 0 { _ = await scene.note([fill]) }
            await scene.ledger.close()
            do {
                let connection = try SQLiteConnection(scene.path)
                try connection.run(
                    """
                    DELETE FROM trace_runs; DELETE FROM trace_blocks;
                    UPDATE log SET time = time + 1
                    WHERE first = (SELECT max(first) FROM log WHERE first <= \(place))
                    """)
            }
            try await scene.reopenOnly()
            for round in 0..<2 {
                let search = TraceSearch(log: scene.ledger)
                let found = try await search.message(MessageID("first")!, app: nil)
                #expect(!found.isComplete && found.lines.count == 1, "\(round)")
                #expect(try await !search.message(MessageID("unknown")!, app: nil).isComplete)
                #expect(try await !search.device(scene.device(token(7))).isComplete)
                let page = try await MessageHistory(log: scene.ledger).list(
                    MessageHistory.Filter(), before: nil, limit: 10)
                #expect(page.messages.map(\.isWhole) == [false])
                // The second time, runs cover the rows around the damaged one.
                _ = await scene.note([fill])
                while try await runs(scene) == 0 { _ = await scene.note([fill]) }
            }
        }
    }

    /// What may have become of a run: its numbers, its index and its blocks.
    static let damages = [
        "UPDATE trace_runs SET last = 9223372036854775807 WHERE first = $first",
        "UPDATE trace_runs SET last = -1 WHERE first = $first",
        "UPDATE trace_runs SET last = last - 1 WHERE first = $first",
        "UPDATE trace_runs SET last = last + 5 WHERE first = $first",
        "UPDATE trace_runs SET last = 0 WHERE first = $first",
        "UPDATE trace_runs SET first = 9223372036854775806 WHERE first = $first",
        "UPDATE trace_runs SET first = first + 3 WHERE first = $first",
        "UPDATE trace_runs SET lows = x'' WHERE first = $first",
        "UPDATE trace_runs SET lows = x'0102' WHERE first = $first",
        "UPDATE trace_runs SET lows = zeroblob(length(lows)) WHERE first = $first",
        "UPDATE trace_runs SET lows = substr(lows, 9) WHERE first = $first",
        "UPDATE trace_runs SET rows = x'' WHERE first = $first",
        "UPDATE trace_runs SET rows = x'ffffffffffffffffffffff' WHERE first = $first",
        "UPDATE trace_blocks SET body = x'00' WHERE id BETWEEN $first AND $first + 100",
        "UPDATE trace_blocks SET body = zeroblob(length(body)) WHERE id BETWEEN $first AND $first + 100",
        "DELETE FROM trace_blocks WHERE id BETWEEN $first AND $first + 100",
        "DELETE FROM trace_runs WHERE first = $first",
    ]

    /// Damage must not hide events: neither those of the run, nor those of the runs and of the log after it.
    @Test(arguments: [0, 1]) func `A damaged run hides nothing, and is reported`(place: Int) async throws {
        try await withLedger { scene in
            var seen = EventDraft(.deviceReactivated, app: LedgerScene.shop)
            seen.device = scene.device(token(1))
            await scene.ledger.close()
            try store(seen, in: scene)
            let intact = try Data(contentsOf: URL(filePath: scene.path))
            for damage in Self.damages {
                for extra in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: scene.path + extra) }
                try intact.write(to: URL(filePath: scene.path))
                try Self.damage(scene.path, damage.replacing("$first", with: "\(1 + place * 200_000)"))
                try await scene.reopenOnly()
                try await checkAll(scene, damage)
                scene.retention.logBytes = 1
                await scene.trim()
                #expect(try await runs(scene) <= 1, "\(damage)")
                scene.retention = LedgerRetention()
                await scene.ledger.close()
            }
            try await scene.reopenOnly()
        }
    }

    private static func damage(_ path: String, _ statement: String) throws {
        let connection = try SQLiteConnection(path)
        try connection.run(statement)
    }

    /// Checks that look-ups find the three events of the device, from each of them on, and that damage is reported once.
    private func checkAll(_ scene: LedgerScene, _ damage: String) async throws {
        let device = scene.device(token(1))
        let all: [UInt64] = [1, 200_001, 400_001]
        for _ in 0..<2 {
            #expect(try await seqs(scene, device, after: 0) == all, "\(damage)")
            for (index, seq) in all.enumerated() {
                #expect(try await seqs(scene, device, after: seq) == Array(all[(index + 1)...]), "\(damage)")
            }
            let one = try await scene.ledger.trace(.device(device), limit: 1)
            #expect(one.map(\.first) == [1], "\(damage)")
        }
        // A run that is gone cannot be told from one that was never there.
        let isGone = damage.hasPrefix("DELETE FROM trace_runs")
        #expect(scene.damagedParts.count == (isGone ? 0 : 1), "\(damage): \(scene.damagedParts)")
    }

    private func seqs(_ scene: LedgerScene, _ device: DeviceID, after: UInt64) async throws -> [UInt64] {
        let segments = try await scene.ledger.trace(.device(device), after: after, limit: 100)
        return try segments.flatMap { try $0.events() }.filter { $0.device == device && $0.seq > after }.map(\.seq)
    }

    /// Stores two runs and the rows after them, with the event in each of the three parts. The numbers have gaps, so that
    /// the runs are long without many events.
    private func store(_ seen: EventDraft, in scene: LedgerScene) throws {
        let connection = try SQLiteConnection(scene.path)
        let traces = try LedgerTraces(connection)
        let addLog = try connection.prepare("INSERT INTO log (first, count, time, body) VALUES (?, ?, ?, ?)")
        let addRun = try connection.prepare("INSERT INTO trace_runs (first, last, lows, rows) VALUES (?, ?, ?, ?)")
        let addBlock = try connection.prepare("INSERT INTO trace_blocks (id, body) VALUES (?, ?)")
        func row(from first: UInt64, _ events: [EventDraft]) throws {
            var writer = LogWriter(next: first)
            writer.begin(time: 0, reserving: 100)
            for event in events { writer.add(event, at: 0) }
            let segment = writer.finish()
            addLog.bind(1, segment.first)
            addLog.bind(2, Int64(segment.count))
            addLog.bind(3, segment.time)
            addLog.bind(4, segment.bytes)
            try addLog.run()
        }
        // Two blocks and a half.
        let others = (0..<1200).map { number in
            var draft = EventDraft(.messageDuplicate, app: LedgerScene.shop)
            draft.messageID = MessageID("other-\(number)")
            return draft
        }
        for part: UInt64 in [0, 1, 2] {
            let first = 1 + part * 200_000
            try row(from: first, [seen] + others)
            try row(from: first + TraceRun.length, Array(others.prefix(10)))
            guard part < 2 else { continue }
            let run = try #require(try traces.build(after: first - 1))
            #expect(run.blockCount == 3)
            for index in 0..<run.blockCount {
                addBlock.bind(1, run.first + UInt64(index))
                addBlock.bind(2, run.block(index))
                try addBlock.run()
            }
            addRun.bind(1, run.first)
            addRun.bind(2, run.last)
            addRun.bind(3, run.lows)
            addRun.bind(4, run.rowNumbers)
            try addRun.run()
        }
    }

    /// Returns the number of runs in the file.
    private func runs(_ scene: LedgerScene) async throws -> Int {
        await scene.settled()
        let connection = try SQLiteConnection(scene.path)
        let count = try connection.prepare("SELECT count(*) FROM trace_runs")
        _ = try count.step()
        return Int(count.number(0))
    }
}
