import PushLogic
import PushModel
import PushPostgreSQL
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Messages that name many devices: what is read and written at once is bounded by bytes.
@Suite(.waits) struct LargeMessageTests {
    /// The bytes of a stored audience of the largest size.
    private static let audienceBytes = Audience.maxNames * 32
    private static let audience = Audience.tokens((0..<Audience.maxNames).map { token($0) })

    private static func node(
        parts: Int = 1, through proxy: CuttingProxy? = nil,
        adjusting: (inout PostgreSQLLedger.Settings) -> Void = { _ in }
    ) async throws -> (LedgerNode, TestSessions) {
        var options = try await SharedPostgreSQL.shared.store(parts: parts, at: .current())
        let admin = try await TestSessions.one(to: options.database)
        if let proxy { options.hosts = [PostgreSQLHost(name: "127.0.0.1", port: proxy.port)] }
        let node = try await LedgerNode(options, adjusting: adjusting)
        for part in 0..<parts { try await node.open(part, epoch: try await admin.raise(part)) }
        return (node, admin)
    }

    @Test func `Due messages are read once each, however large they are`() async throws {
        let proxy = try CuttingProxy(to: try await SharedPostgreSQL.shared.server().port)
        let (node, admin) = try await Self.node(parts: 2, through: proxy)
        let due = WallTime.current().seconds + 1000
        let count = 10
        for number in 0..<count {
            let request = push("m\(number)", to: Self.audience, notBefore: due)
            #expect(await node.accept([request]).compactMap(\.seq).count == 1)
        }
        #expect(await node.accept([push("small", notBefore: due)]).compactMap(\.seq).count == 1)
        let before = proxy.passed(.answers)
        var ids: [String] = []
        var answers = 0
        while true {
            let answer = try await node.due(at: due)
            answers += 1
            ids += answer.messages.map(\.message.id.text)
            #expect(answer.messages.allSatisfy { $0.message.id.text == "small" || $0.audience == Self.audience })
            guard answer.next != nil else { break }
            try #require(!answer.messages.isEmpty)
        }
        #expect(ids.sorted() == ((0..<count).map { "m\($0)" } + ["small"]).sorted())
        #expect(answers >= count / 2)
        // An answer reads one message more than it returns, and not all that are due.
        #expect(proxy.passed(.answers) - before < 3 * count * Self.audienceBytes)
        await node.ledger.close()
        await admin.close()
    }

    @Test func `Many scheduled messages are cancelled at once, however large they are`() async throws {
        let (node, admin) = try await Self.node()
        let due = WallTime.current().seconds + 1000
        let count = LedgerGroup.maxCancels + 8
        for number in 0..<count {
            let audience = number < 5 ? Self.audience : .tokens([token(number)])
            #expect(await node.accept([push("m\(number)", to: audience, notBefore: due)]).compactMap(\.seq).count == 1)
        }
        let answers = await withTaskGroup(of: Cancellation.self) { group in
            for number in 0..<count {
                group.addTask { await node.cancel("m\(number)") }
            }
            // No message is in memory, as the router would say.
            let orders = await node.listener.orders.wait(count: count)
            node.ledger.ended(
                orders.map { order in
                    CancelEnd(number: order.number, parts: order.parts.map { .init(seq: $0.seq, fate: .absent) })
                }, releasing: [])
            return await group.reduce(into: [Cancellation]()) { $0.append($1) }
        }
        let counts = answers.map { answer -> UInt64 in
            guard case .cancelled(let counts) = answer else { return 0 }
            return counts.cancelled
        }
        let expected = (0..<count).map { UInt64($0 < count - 5 ? 1 : Audience.maxNames) }
        #expect(counts.sorted() == expected)
        #expect(try await admin.count("SELECT count(*) FROM carillon.later") == 0)
        await node.ledger.close()
        await admin.close()
    }

    @Test func `More bytes than a connection takes are stored in several flushes`() async throws {
        let (node, admin) = try await Self.node { $0.session.limits.maxBytes = 24 << 20 }
        // Without a bound, all that waits for the first flush is one section of 40 MB.
        let answers = await withTaskGroup(of: [Acceptance].self) { group in
            for number in 0..<13 {
                group.addTask { await node.accept([push("m\(number)", to: Self.audience)]) }
            }
            return await group.reduce(into: [Acceptance]()) { $0 += $1 }
        }
        #expect(Set(answers.compactMap(\.seq)).count == 13)
        await node.ledger.close()
        await admin.close()
    }

    @Test func `A group is taken in pieces of bounded size, in its order, and can be put back`() throws {
        for step in [1, 3, 100] {
            var group = LedgerGroup()
            let ids = (0..<40).map { "m\($0)" }
            for id in ids {
                let requests = [push(id, payload: Array(repeating: 0x20, count: LedgerGroup.byteLimit / 3))]
                group.requests.append(RequestBatch(requests, at: [0], reply: SplitReply(count: 1) { _ in }))
            }
            for number in 0..<60 {
                let id = try #require(MessageID("c\(number)"))
                // Those of a family stay together.
                let requests = Array(repeating: CancelRequest(id, of: LedgerScene.shop), count: 1 + number % 7)
                group.cancels.append((min(40, number / step), requests, { _ in }))
            }
            let all = Self.order(of: group)
            var taken: [String] = []
            while !group.isEmpty {
                let bytes = group.firstBytes
                var first = group.takeFirst()
                let order = Self.order(of: first)
                #expect(!order.isEmpty && first.cancelCount <= LedgerGroup.maxCancels)
                #expect(first.requests.count <= 3 && first.requests.reduce(0) { $0 + $1.byteCount } <= bytes)
                group.putBack(first)
                #expect(Self.order(of: group) == Array(all.dropFirst(taken.count)))
                first = group.takeFirst()
                #expect(Self.order(of: first) == order)
                taken += order
            }
            #expect(taken == all)
        }
    }

    /// The requests and cancellations in the order in which they are decided upon.
    private static func order(of group: LedgerGroup) -> [String] {
        var order: [String] = []
        var cancels = group.cancels[...]
        for (place, batch) in group.requests.enumerated() {
            while let next = cancels.first, next.place <= place {
                order += cancels.removeFirst().requests.map(\.id.text)
            }
            order.append(batch[0].message.id.text)
        }
        return order + cancels.flatMap { $0.requests.map(\.id.text) }
    }
}
