import PushModel
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
            builder.add(writer.finish())
        }
        let run = try #require(builder.finish())
        #expect(run.first == 77)
        #expect(run.last == writer.next - 1)
        for (name, firsts) in rows { #expect(look(.message(MessageID(name)!), run) == firsts.sorted()) }
        for (device, firsts) in devices { #expect(look(.device(device), run) == firsts.sorted()) }
        #expect(look(.message(MessageID("unknown")!), run).count <= 1)
    }

    private func look(_ subject: TraceSubject, _ run: TraceRun) -> [UInt64] {
        let hash = TraceRun.hash(subject)
        var places: [Int] = []
        for block in run.lows.withUnsafeBytes({ TraceRun.blocks(of: hash, in: $0) }) {
            run.block(block).withUnsafeBytes { TraceRun.places(of: hash, in: $0, &places) }
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
                    case .message(let id): event.message == id.text
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

    /// Returns the number of runs in the file.
    private func runs(_ scene: LedgerScene) async throws -> Int {
        await scene.settled()
        let connection = try SQLiteConnection(scene.path)
        let count = try connection.prepare("SELECT count(*) FROM trace_runs")
        _ = try count.step()
        return Int(count.number(0))
    }
}
