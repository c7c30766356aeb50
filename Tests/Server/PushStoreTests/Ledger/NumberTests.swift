import PushModel
import Testing

@testable import PushStore

@Suite struct NumberTests {
    private func expectChain(_ scene: LedgerScene, from start: UInt64 = 1) async throws -> [SeenEvent] {
        let page = try await scene.ledger.read(since: 0, limit: .max)
        let events = try page.segments.flatMap { try $0.events() }
        #expect(events.map(\.seq) == Array(start..<(start + UInt64(events.count))))
        var last: [String: UInt64] = [:]
        for event in events {
            if let known = last[event.topic] { #expect(event.prev == known) }
            last[event.topic] = event.seq
        }
        #expect(page.newest == events.last?.seq ?? page.newest)
        return events
    }

    @Test(arguments: LedgerKind.allCases) func `Numbers and topic chains continue after every reopening`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            for round in 0..<5 {
                for index in 0..<10 {
                    #expect(await scene.accept(push("m\(round).\(index)", to: [index])).seq != nil)
                    if index % 2 == 0 { scene.carryOut(scene.listener.messages.last!) }
                    var draft = EventDraft(.connectionUp, app: index % 3 == 0 ? nil : LedgerScene.shop)
                    draft.add("n", number: Int64(index))
                    #expect(await scene.note([draft, draft]) != nil)
                }
                try await scene.reopen()
            }
            let events = try await expectChain(scene)
            // Only the first event of a topic has the predecessor 0.
            let topics = Dictionary(grouping: events, by: \.topic)
            #expect(topics.values.allSatisfy { $0[0].prev == 0 && $0.dropFirst().allSatisfy { $0.prev > 0 } })
            #expect(topics.count == 5)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Reading the log returns the published events`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            for index in 0..<20 { _ = await scene.accept((0..<(index + 1)).map { push("m\(index).\($0)") }) }
            for message in scene.listener.messages { scene.carryOut(message) }
            await scene.settled()
            let page = try await scene.ledger.read(since: 0, limit: .max)
            let read = try page.segments.flatMap { try $0.events() }
            let told = try scene.listener.segments.flatMap { try $0.events() }
            #expect(read == told)
            #expect(read.count == 3 * 210)
            // Read in pages that start anywhere.
            var since: UInt64 = 0
            var seen: [UInt64] = []
            while since < page.newest {
                let next = try await scene.ledger.read(since: since, limit: 7)
                for segment in next.segments { seen += try segment.events().map(\.seq).filter { $0 > since } }
                since = seen.last ?? .max
            }
            #expect(seen == Array(1...630))
        }
    }

    @Test func `No number repeats after retention has removed all rows but the last`() async throws {
        try await withLedger { scene in
            for index in 0..<100 { _ = await scene.accept(push("m\(index)")) }
            scene.retention.logAge = .seconds(60)
            scene.advance(.seconds(3600))
            let status = await scene.trim()
            #expect(status.newest == 100)
            #expect(status.oldest == 100)
            try await scene.reopen()
            let reopened = await scene.settled()
            #expect(reopened.oldest == 100)
            #expect(await scene.accept(push("next")) == .accepted(seq: 101))
            let events = try await expectChain(scene, from: 100)
            #expect(events.last?.prev == 100)
        }
    }

    @Test func `A large group is split into segments, and each reply belongs to its request`() async throws {
        try await withLedger { scene in
            let requests = (0..<20_000).map { push("m\($0)") }
            let replies = await scene.accept(requests)
            #expect(replies == (1...20_000).map { .accepted(seq: UInt64($0)) })
            let tokens = (0..<30_000).map { token($0) }
            let seq = try #require(await scene.accept(push("wide", to: .tokens(tokens))).seq)
            let message = try #require(scene.listener.messages.last)
            #expect(message.seq == seq)
            scene.ledger.record(scene.sent(message, tokens), completed: [scene.completed(message, sent: 30_000)])
            await scene.settled()
            #expect(try await expectChain(scene).count == 20_000 + 30_002)
            try await scene.reopen()
            #expect(try await scene.load([1, 10_000, 20_000]).map(\.message.id.text) == ["m0", "m9999", "m19999"])
            #expect(scene.backlog.lanes.map(\.seqs) == [Array(1...20_000)])
        }
    }
}
