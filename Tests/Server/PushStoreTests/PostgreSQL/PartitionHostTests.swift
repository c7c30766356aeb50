import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Parts of the ledger that come and go, over a real server.
@Suite(.waits) struct PartitionHostTests {
    private static func store(parts: Int) async throws -> (PostgreSQLOptions, TestSessions) {
        let options = try await SharedPostgreSQL.shared.store(parts: parts, at: .current())
        return (options, try await TestSessions.one(to: options.database))
    }

    private static func requests(_ range: Range<Int>) -> [PushRequest] { range.map { push("m\($0)") } }

    private func isRefused(_ acceptance: Acceptance, saying text: String) -> Bool {
        guard case .failed(let reason) = acceptance else { return false }
        return reason.contains(text)
    }

    // MARK: Load and serve

    @Test func `A ledger without parts accepts nothing, and a part accepts when it is served`() async throws {
        let (options, admin) = try await Self.store(parts: 1)
        let node = try await LedgerNode(options)
        #expect(isRefused(await node.accept([push("a")])[0], saying: "not owned by this node; repeat the request"))
        let epoch = try await admin.raise(0)
        #expect(await node.load(0, epoch: epoch) == nil)
        #expect(isRefused(await node.accept([push("a")])[0], saying: "is being opened; repeat the request"))
        #expect(node.listener.heard.events.isEmpty && node.ledger.heads().isEmpty)
        node.serve(0, epoch: epoch)
        #expect(await node.accept([push("a")]) == [.accepted(seq: 1)])
        #expect(node.ledger.heads() == [LogHeads(part: LedgerNode.id(0), newest: 0, topics: [])])
        let heard = await node.listener.heard.wait(count: 3)
        #expect(heard == [.opened(0, waiting: []), .accepted([1]), .committed(part: 0, first: 1)])
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A part is not loaded at an epoch that is not the current one`() async throws {
        let (options, admin) = try await Self.store(parts: 1)
        let node = try await LedgerNode(options)
        let old = try await admin.raise(0)
        _ = try await admin.raise(0)
        let fault = await node.load(0, epoch: old)
        #expect(fault?.description.contains("another node owns it") == true)
        #expect(isRefused(await node.accept([push("a")])[0], saying: "not owned"))
        #expect(await node.load(5, epoch: old)?.description.contains("no part 5") == true)
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A drop ends a load`() async throws {
        var (options, admin) = try await Self.store(parts: 1)
        let epoch = try await admin.raise(0)
        let proxy = try CuttingProxy(to: try await SharedPostgreSQL.shared.server().port)
        options.hosts = [PostgreSQLHost(name: "127.0.0.1", port: proxy.port)]
        let node = try await LedgerNode(options)
        let seen = proxy.held.events.count
        proxy.hold(.answers)
        async let fault = node.load(0, epoch: epoch)
        await proxy.held.wait(count: seen + 1)
        node.drop(0, epoch: epoch)
        #expect(await fault?.description.contains("the part was dropped") == true)
        proxy.release(.answers)
        // The part can be loaded after that.
        try await node.open(0, epoch: epoch)
        #expect(await node.accept([push("a")]) == [.accepted(seq: 1)])
        await node.ledger.close()
        await admin.close()
    }

    // MARK: Hand-over

    @Test func `A part that moves has exactly the waiting messages at its next owner`() async throws {
        let (options, admin) = try await Self.store(parts: 1)
        let first = try await LedgerNode(options)
        let epoch = try await admin.raise(0)
        try await first.open(0, epoch: epoch)
        let seqs = await first.accept(Self.requests(0..<20)).compactMap(\.seq)
        #expect(seqs.count == 20)
        let messages = try await first.load(Array(seqs.prefix(8)))
        for message in messages { first.carryOut(message) }
        await first.drain(0, epoch: epoch)
        #expect(isRefused(await first.accept([push("late")])[0], saying: "moves to another node; repeat the request"))
        #expect(first.listener.heard.events.contains(.closed(0)))
        let next = try await admin.raise(0)
        first.drop(0, epoch: epoch)
        let second = try await LedgerNode(options)
        try await second.open(0, epoch: next)
        #expect(second.listener.waiting(in: 0) == Array(seqs.dropFirst(8)))
        #expect(await second.accept(Self.requests(0..<20)) == seqs.map { .duplicate(seq: $0) })
        #expect(isRefused(await first.accept([push("late")])[0], saying: "not owned"))
        #expect(first.ledger.backlog(of: LedgerScene.shop) == AppBacklog())
        #expect(second.ledger.backlog(of: LedgerScene.shop).waiting == 12)
        #expect(await first.ledger.status().waiting == 0)
        #expect(first.listener.heard.events.filter { $0 == .closed(0) }.count == 1)
        await first.ledger.close()
        await second.ledger.close()
        await admin.close()
    }

    /// The messages of one part, which are read first, leave while the database answers.
    @Test func `A part that moves while messages are read does not take those of other parts with it`() async throws {
        var (options, admin) = try await Self.store(parts: 2)
        let proxy = try CuttingProxy(to: try await SharedPostgreSQL.shared.server().port)
        options.hosts = [PostgreSQLHost(name: "127.0.0.1", port: proxy.port)]
        let node = try await LedgerNode(options)
        let epochs = [try await admin.raise(0), try await admin.raise(1)]
        for part in 0..<2 { try await node.open(part, epoch: epochs[part]) }
        var seqs: [[UInt64]] = [[], []]
        var index = 0
        while seqs[0].count < 20 || seqs[1].count < 5 {
            index += 1
            let request = push("m\(index)")
            let part = node.ledger.map.partition(of: request).number
            if seqs[part].count == (part == 0 ? 20 : 5) { continue }
            // Each has a row of its own.
            seqs[part].append(try #require(await node.accept([request])[0].seq))
        }
        // Only the connection that reads is held.
        proxy.mark("FROM carillon.bodies")
        #expect(try await node.load([seqs[1][0]]).map(\.seq) == [seqs[1][0]])
        let seen = proxy.held.events.count
        proxy.holdMarked(.answers)
        let (asked, left) = (seqs[0] + seqs[1], seqs[1])
        async let read = node.load(asked)
        await proxy.held.wait(count: seen + 1)
        await node.drain(0, epoch: epochs[0])
        proxy.release(.answers)
        #expect(try await read.map(\.seq) == left)
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A drain ends when the deliveries under way are recorded`() async throws {
        let (options, admin) = try await Self.store(parts: 1)
        let node = try await LedgerNode(options)
        let epoch = try await admin.raise(0)
        try await node.open(0, epoch: epoch)
        let seq = try #require(await node.accept([push("a")])[0].seq)
        let message = try #require(try await node.load([seq]).first)
        node.listener.holdClosings()
        let isDrained = EventRecorder<Bool>()
        node.ledger.drain(LedgerNode.id(0), epoch: epoch) { isDrained.record(true) }
        await node.listener.heard.wait { $0.contains(.closed(0)) }
        await node.ledger.flush()
        #expect(isDrained.events.isEmpty)
        node.carryOut(message)
        node.listener.endClosings()
        await isDrained.wait(count: 1)
        #expect(try await admin.count("SELECT count(*) FROM carillon.groups") == 2)
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A part whose move did not happen is read again at its epoch, and continues`() async throws {
        let (options, admin) = try await Self.store(parts: 1)
        let node = try await LedgerNode(options)
        let epoch = try await admin.raise(0)
        try await node.open(0, epoch: epoch)
        let seqs = await node.accept(Self.requests(0..<20)).compactMap(\.seq)
        for message in try await node.load(Array(seqs.prefix(8))) { node.carryOut(message) }
        await node.drain(0, epoch: epoch)
        node.drop(0, epoch: epoch)
        try await node.open(0, epoch: epoch)
        #expect(node.listener.waiting(in: 0) == Array(seqs.dropFirst(8)))
        #expect(await node.accept(Self.requests(0..<20)) == seqs.map { .duplicate(seq: $0) })
        #expect(try #require(await node.accept([push("new")])[0].seq) > (try #require(seqs.last)))
        await node.ledger.close()
        await admin.close()
    }

    @Test func `64 parts of two nodes accept what is theirs, and move`() async throws {
        let (options, admin) = try await Self.store(parts: 64)
        let nodes = [try await LedgerNode(options), try await LedgerNode(options)]
        var epochs: [PartitionEpoch] = []
        for part in 0..<64 {
            epochs.append(try await admin.raise(part))
            try await nodes[part % 2].open(part, epoch: epochs[part])
        }
        let requests = Self.requests(0..<640)
        var seqs: [UInt64?] = Array(repeating: nil, count: 640)
        for (index, node) in nodes.enumerated() {
            for (place, acceptance) in await node.accept(requests).enumerated() {
                guard let seq = acceptance.seq else { continue }
                #expect(EventNumber.part(of: seq) % 2 == index && seqs[place] == nil)
                seqs[place] = seq
            }
        }
        let all = seqs.compactMap { $0 }
        #expect(all.count == 640)
        var waiting = nodes.map { $0.ledger.backlog(of: LedgerScene.shop).waiting }
        #expect(waiting[0] + waiting[1] == 640 && waiting[0] > 0)
        for part in stride(from: 0, to: 64, by: 2) {
            await nodes[0].drain(part, epoch: epochs[part])
            let next = try await admin.raise(part)
            nodes[0].drop(part, epoch: epochs[part])
            try await nodes[1].open(part, epoch: next)
            let own = all.filter { EventNumber.part(of: $0) == part }.sorted()
            #expect(nodes[1].listener.waiting(in: part) == own)
        }
        // The order to drop the last part has no answer.
        waiting = await wait(for: { nodes.map { $0.ledger.backlog(of: LedgerScene.shop).waiting } }) { $0 == [0, 640] }
        #expect(waiting == [0, 640])
        #expect(await nodes[0].ledger.status().waiting == 0)
        #expect(nodes[0].ledger.heads().isEmpty && nodes[1].ledger.heads().count == 64)
        let duplicates = await nodes[1].accept(requests)
        #expect(duplicates == seqs.map { .duplicate(seq: $0 ?? 0) })
        for node in nodes { await node.ledger.close() }
        await admin.close()
    }

    // MARK: Loss

    @Test func `A part that another node has taken is closed and reported`() async throws {
        let (options, admin) = try await Self.store(parts: 2)
        let node = try await LedgerNode(options)
        let epochs = [try await admin.raise(0), try await admin.raise(1)]
        for part in 0..<2 { try await node.open(part, epoch: epochs[part]) }
        let seqs = await node.accept(Self.requests(0..<20)).compactMap(\.seq)
        let own = seqs.count { EventNumber.part(of: $0) == 1 }
        _ = try await admin.raise(0)
        let map = node.ledger.map
        for (index, acceptance) in await node.accept(Self.requests(20..<40)).enumerated() {
            let id = try #require(MessageID("m\(20 + index)"))
            if map.partition(of: LedgerScene.shop, id).number == 1 {
                #expect(acceptance.seq != nil)
            } else {
                #expect(isRefused(acceptance, saying: "repeat the request"))
            }
        }
        #expect(await node.lost.wait(count: 1) == [LedgerNode.id(0)])
        #expect(node.listener.heard.events.contains(.closed(0)))
        #expect(!node.listener.heard.events.contains(.closed(1)))
        // The order to drop it comes late, and changes nothing.
        node.drop(0, epoch: epochs[0])
        await node.ledger.flush()
        #expect(node.listener.heard.events.filter { $0 == .closed(0) }.count == 1)
        let kept = own + node.listener.acceptedSeqs.dropFirst(20).count
        #expect(node.ledger.backlog(of: LedgerScene.shop).waiting == kept)
        await node.ledger.close()
        await admin.close()
    }

    /// The write of an earlier ownership has no answer while the part is dropped and loaded again.
    @Test(arguments: [CuttingProxy.Direction.requests, .answers])
    func `An old commit does not touch the part that was loaded again`(
        direction: CuttingProxy.Direction
    ) async throws {
        var (options, admin) = try await Self.store(parts: 1)
        let proxy = try CuttingProxy(to: try await SharedPostgreSQL.shared.server().port)
        options.hosts = [PostgreSQLHost(name: "127.0.0.1", port: proxy.port)]
        let node = try await LedgerNode(options)
        let old = try await admin.raise(0)
        try await node.open(0, epoch: old)
        // Only the connection that writes is held.
        proxy.mark("INTO carillon.groups")
        #expect(await node.accept([push("a")]) == [.accepted(seq: 1)])
        let seen = proxy.held.events.count
        proxy.holdMarked(direction)
        async let late = node.accept([push("b")])
        await proxy.held.wait(count: seen + 1)
        if direction == .answers {
            try await wait(while: try await admin.count("SELECT count(*) FROM carillon.groups") < 2)
        }
        // While the write has no answer, the part cannot be loaded at the same epoch.
        node.drop(0, epoch: old)
        #expect(await node.load(0, epoch: old)?.description.contains("no answer yet") == true)
        let new = try await admin.raise(0)
        try await node.open(0, epoch: new)
        #expect(node.listener.waiting(in: 0) == (direction == .answers ? [1, 2] : [1]))
        async let first = node.accept([push("c")])
        await node.ledger.settled()
        proxy.release(direction)
        if direction == .answers {
            #expect(await late == [.accepted(seq: 2)])
        } else {
            #expect(isRefused(await late[0], saying: "repeat the request"))
        }
        // It is refused if the old commit had no answer for so long that this counts as a fault.
        var next = await first
        while case .failed = next[0] { next = await node.accept([push("c")]) }
        #expect(next == [.accepted(seq: direction == .answers ? 3 : 2)])
        // The router has the message of the old commit from the part's opening.
        #expect(node.listener.acceptedSeqs == [1, direction == .answers ? 3 : 2])
        #expect(node.lost.events.isEmpty)
        let waiting = direction == .answers ? 3 : 2
        #expect(node.ledger.backlog(of: LedgerScene.shop).waiting == waiting)
        let numbers = try await node.events(of: 0).map(\.seq)
        #expect(numbers == Array(1...UInt64(waiting)))
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A part that is opened again waits for the deliveries of the first opening`() async throws {
        let (options, admin) = try await Self.store(parts: 1)
        let node = try await LedgerNode(options)
        let old = try await admin.raise(0)
        try await node.open(0, epoch: old)
        let seq = try #require(await node.accept([push("a", to: [1, 2])])[0].seq)
        let message = try #require(try await node.load([seq]).first)
        #expect(await node.claim(message) == [.new, .new])
        node.listener.holdClosings()
        node.drop(0, epoch: old)
        let new = try await admin.raise(0)
        try await node.open(0, epoch: new)
        #expect(isRefused(await node.accept([push("b")])[0], saying: "is being opened"))
        // One of the two deliveries was under way.
        node.carryOut(message, devices: 1)
        node.listener.endClosings()
        let heard = await node.listener.heard.wait { $0.count { if case .opened = $0 { true } else { false } } == 2 }
        let closed = try #require(heard.firstIndex(of: .closed(0)))
        let reopened = try #require(heard.lastIndex(of: .opened(0, waiting: [seq])))
        let outcome = try #require(heard.lastIndex(of: .committed(part: 0, first: 2)) ?? heard.indices.last)
        #expect(closed < reopened && reopened <= outcome)
        await node.listener.heard.wait { $0.contains(.committed(part: 0, first: 2)) }
        let again = try #require(try await node.load([seq]).first)
        #expect(again.counts.sent == 1)
        #expect(await node.claim(again) == [.done, .new])
        await node.ledger.close()
        await admin.close()
    }

    // MARK: The end of the lease

    @Test func `After stopSending nothing is accepted or claimed until all parts are served`() async throws {
        let (options, admin) = try await Self.store(parts: 2)
        let node = try await LedgerNode(options)
        let epochs = [try await admin.raise(0), try await admin.raise(1)]
        for part in 0..<2 { try await node.open(part, epoch: epochs[part]) }
        let seqs = await node.accept(
            Self.requests(0..<20).map { PushRequest($0.message, to: .tokens([token(1), token(2)])) }
        )
        .compactMap(\.seq)
        let messages = try await node.load(seqs)
        let done = try #require(messages.first { EventNumber.part(of: $0.seq) == 0 })
        let other = try #require(messages.first { EventNumber.part(of: $0.seq) == 1 })
        #expect(await node.claim(done) == [.new, .new])
        node.ledger.stopSending()
        #expect(isRefused(await node.accept([push("late")])[0], saying: "its lease ran out"))
        #expect(await node.claim(other).isEmpty)
        // What was under way is written.
        node.carryOut(done)
        await node.ledger.flush()
        let topics = try await node.events(of: 0).map(\.topic)
        #expect(topics.contains("message/shop/completed"))
        node.serve(0, epoch: epochs[0])
        #expect(await node.claim(other).isEmpty)
        #expect(!node.listener.heard.events.contains(.suspended(false)))
        node.serve(1, epoch: epochs[1])
        #expect(await node.claim(other) == [.new, .new])
        #expect(node.listener.heard.events.count { $0 == .suspended(true) } == 1)
        #expect(node.listener.heard.events.count { $0 == .suspended(false) } == 1)
        let openings = node.listener.heard.events.count { if case .opened = $0 { true } else { false } }
        #expect(openings == 2)
        #expect(await node.accept([push("late")])[0].seq != nil)
        #expect(node.ledger.backlog(of: LedgerScene.shop).waiting == 20)
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A drop of the last part that waits to be served ends the suspension`() async throws {
        let (options, admin) = try await Self.store(parts: 2)
        let node = try await LedgerNode(options)
        let epochs = [try await admin.raise(0), try await admin.raise(1)]
        for part in 0..<2 { try await node.open(part, epoch: epochs[part]) }
        node.ledger.stopSending()
        node.serve(0, epoch: epochs[0])
        node.drop(1, epoch: epochs[1])
        let heard = await node.listener.heard.wait { $0.contains(.suspended(false)) }
        #expect(Array(heard.suffix(3)) == [.suspended(true), .closed(1), .suspended(false)])
        await node.ledger.close()
        await admin.close()
    }
}
