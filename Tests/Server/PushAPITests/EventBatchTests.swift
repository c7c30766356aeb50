import PushModel
import PushStore
import PushWire
import ServerTestSupport
import Testing

/// The events that a webhook gets with one request.
@Suite struct EventBatchTests {
    private func numbers(_ batch: EventBatch) throws -> [UInt64] {
        let text = String(decoding: batch.body, as: UTF8.self)
        return text.components(of: "\"seq\":").compactMap { UInt64($0.prefix { $0.isNumber }) }
    }

    /// Commits events of these kinds, and returns a reader of them.
    private func reader(_ segments: [[EventKind]]) -> (reader: EventReader, events: FakeEvents) {
        let events = FakeEvents()
        for kinds in segments {
            events.commit { writer, now in for kind in kinds { writer.add(kind, at: now) } }
        }
        return (EventReader(log: events), events)
    }

    @Test func `A batch has the events of all prefixes in their order`() async throws {
        let segments: [[EventKind]] = [
            [.connectionUp, .deviceBrake], [.connectionDown, .connectionUp], [.credentialFailed],
        ]
        let reader = reader(segments).reader
        let batch = try await reader.batch(after: 0, prefixes: ["connection/shop/up", "device/"])
        #expect(try numbers(batch) == [1, 2, 4] && batch.count == 3 && batch.last == 4)
        #expect(batch.examined == 5 && batch.isEnd && batch.bounds == LogBounds(oldest: 1, newest: 5))
        let rest = try await reader.batch(after: 4, prefixes: ["connection/shop/up"])
        #expect(rest.count == 0 && rest.examined == 5 && rest.isEnd)
        let again = try await reader.batch(after: 0, through: 4, prefixes: ["connection/shop/up", "device/"])
        #expect(again.body == batch.body)
    }

    @Test func `Events about webhooks are in it only if a prefix names them`() async throws {
        let reader = reader([[.webhookPaused, .connectionUp, .webhookDisabled]]).reader
        #expect(try numbers(await reader.batch(after: 0, prefixes: [""])) == [2])
        #expect(try numbers(await reader.batch(after: 0, prefixes: ["web"])) == [])
        #expect(try numbers(await reader.batch(after: 0, prefixes: ["", "webhook/shop/disabled"])) == [2, 3])
    }

    @Test func `A batch has at most a hundred events, and the next one goes on behind it`() async throws {
        let many = [EventKind](repeating: .connectionUp, count: 70)
        let (reader, events) = reader([many, many, many])
        var (at, all): (UInt64, [UInt64]) = (0, [])
        while true {
            let batch = try await reader.batch(after: at, prefixes: ["connection/"])
            #expect(batch.count <= EventBatch.maxEvents && batch.body.count <= EventBatch.maxBytes)
            if batch.count == 0 { break }
            all += try numbers(batch)
            at = batch.last
        }
        #expect(all == Array(1...210))
        // What retention removes changes the body, and what is damaged is reported.
        let whole = try await reader.batch(after: 60, through: 100, prefixes: [""])
        events.forget(1)
        let less = try await reader.batch(after: 60, through: 100, prefixes: [""])
        #expect(less.bounds.oldest == 71 && less.count == whole.count - 10 && less.body != whole.body)
        events.damage(0)
        let damaged = try await reader.batch(after: 60, prefixes: [""])
        #expect(damaged.damaged == [71] && damaged.examined >= 140)
    }
}

extension String {
    fileprivate func components(of mark: String) -> [Substring] {
        split(separator: mark, omittingEmptySubsequences: false).dropFirst().map { $0 }
    }
}
