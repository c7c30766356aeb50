import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// Searching the log of several parts.
@Suite(.waits) struct PostgreSQLTraceTests {
    private func carriedOut(_ options: PostgreSQLOptions) async throws -> LedgerNode {
        let admin = try await TestSessions.one(to: options.database)
        let node = try await LedgerNode(options)
        for part in 0..<8 { try await node.open(part, epoch: try await admin.raise(part)) }
        await admin.close()
        for round in 0..<5 {
            let requests = (0..<40).map { push("m\(40 * round + $0)", to: [$0 % 7, 100]) }
            let seqs = await node.accept(requests).compactMap(\.seq)
            for message in try await node.load(seqs.sorted()) { node.carryOut(message) }
            await node.ledger.flush()
        }
        return node
    }

    @Test func `The history of a message is in its part`() async throws {
        let node = try await carriedOut(try await SharedPostgreSQL.shared.store(parts: 8, at: .current()))
        let history = MessageHistory(log: node.ledger)
        for index in stride(from: 0, to: 200, by: 17) {
            let id = try #require(MessageID("m\(index)"))
            let one = try await history.one(id, app: LedgerScene.shop)
            #expect(one.count == 1 && one.first?.state == .completed && one.first?.counts.sent == 2)
            // Without an app all parts are searched, with the same result.
            #expect(try await history.one(id, app: nil) == one)
            let part = node.ledger.map.partition(of: LedgerScene.shop, id).number
            let segments = try await node.ledger.trace(.message(id, app: LedgerScene.shop), limit: 100)
            #expect(!segments.isEmpty && segments.allSatisfy { EventNumber.part(of: $0.first) == part })
            let list = try await DeliveryHistory(log: node.ledger).list(
                id, app: LedgerScene.shop, after: 0, limit: 10)
            #expect(list.deliveries.count == 2 && list.isKnown && list.next == nil)
            // A page continues after its last delivery.
            let page = try await DeliveryHistory(log: node.ledger).list(id, app: LedgerScene.shop, after: 0, limit: 1)
            let next = try #require(page.next)
            let rest = try await DeliveryHistory(log: node.ledger).list(
                id, app: LedgerScene.shop, after: next, limit: 10)
            #expect((page.deliveries + rest.deliveries).map(\.seq) == list.deliveries.map(\.seq))
        }
        let unknown = try #require(MessageID("unknown"))
        #expect(try await history.one(unknown, app: LedgerScene.shop).isEmpty)
        #expect(try await history.one(unknown, app: nil).isEmpty)
        await node.ledger.close()
    }

    @Test func `When many messages were accepted is one question, and older ones are left out`() async throws {
        let node = try await carriedOut(try await SharedPostgreSQL.shared.store(parts: 8, at: .current()))
        let history = MessageHistory(log: node.ledger)
        let known = stride(from: 0, to: 200, by: 17).compactMap { MessageID("m\($0)") }
        var expected: [MessageID: WallTime] = [:]
        for id in known { expected[id] = try await history.one(id, app: LedgerScene.shop).first?.acceptedAt }
        #expect(expected.count == known.count)
        // One id begins another, one is unknown, and one is of another app.
        let asked = (known + [try #require(MessageID("m")), try #require(MessageID("unknown"))])
            .map { (app: LedgerScene.shop, id: $0) }
        #expect(try await node.ledger.accepted(asked, since: .distantPast) == expected)
        let other = try #require(AppID("other"))
        #expect(try await node.ledger.accepted([(app: other, id: known[0])], since: .distantPast).isEmpty)
        let newest = try #require(expected.values.max())
        #expect(try await node.ledger.accepted(asked, since: newest + .seconds(1)).isEmpty)
        let some = try await node.ledger.accepted(asked, since: newest)
        #expect(some.allSatisfy { expected[$0.key] == $0.value } && some.values.contains(newest))
        #expect(try await history.accepted(asked, since: .distantPast) == expected)
        #expect(try await history.accepted([], since: .distantPast).isEmpty)
        await node.ledger.close()
    }

    @Test func `A message to several Live Activities is found and cancelled in all parts`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 8, at: .current())
        let node = try await carriedOut(options)
        let id = try #require(MessageID("states"))
        let seqs = await node.accept(Self.updates(id)).compactMap(\.seq)
        let parts = Set(seqs.map { EventNumber.part(of: $0) })
        #expect(seqs.count == 12 && parts.count > 1)
        let other = try await LedgerNode(options)
        for log in [node.ledger, other.ledger] {
            let one = try await MessageHistory(log: log).one(id, app: LedgerScene.shop)
            #expect(one.map(\.acceptances) == [12] && one.first?.state == .waiting)
        }
        let request = CancelRequest(id, of: LedgerScene.shop).within(Array(0..<8))
        async let answers = withCheckedContinuation { continuation in
            node.ledger.cancel([request]) { continuation.resume(returning: $0) }
        }
        let orders = await wait(for: { node.listener.orders.events }, until: { $0.count == parts.count })
        #expect(Set(orders.flatMap(\.parts).map(\.seq)) == Set(seqs))
        for order in orders {
            let stopped = order.parts.map { CancelEnd.Part(seq: $0.seq, fate: .absent) }
            node.ledger.ended([CancelEnd(number: order.number, parts: stopped)], releasing: [])
        }
        let counts = CancelCounts.ofActivities(sent: 0, cancelled: 0)
        #expect(await answers == [.cancelled(counts)])
        for part in parts { #expect(await node.cancel(request.within([part])) == .cancelled(counts)) }
        await node.ledger.flush()
        let cancelled = try await MessageHistory(log: other.ledger).one(id, app: LedgerScene.shop)
        #expect(cancelled.map(\.state) == [.cancelled])
        // In parts that have never had the id, nothing is known.
        let unknown = CancelRequest(try #require(MessageID("unknown")), of: LedgerScene.shop)
        #expect(await node.cancel(unknown.within(Array(0..<8))) == .unknown)
        await node.ledger.close()
        await other.ledger.close()
    }

    @Test func `The story of a Live Activity is in the order of time, over the parts of its messages`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 8, at: .current())
        let time = Locked(WallTime.current())
        let node = try await LedgerNode(options) { $0.clock = { time.withLock { $0 } } }
        let admin = try await TestSessions.one(to: options.database)
        for part in 0..<8 { try await node.open(part, epoch: try await admin.raise(part)) }
        await admin.close()
        // The number of the start is larger than that of the update after it.
        let map = node.ledger.map
        let names = (0..<100).map { "order-\($0)" }
        let chosen = names.first { name in
            let start = MessageID("\(name)-start").map { map.partition(of: LedgerScene.shop, $0).number } ?? 0
            return start > map.partition(of: LedgerScene.shop, activity: name).number
        }
        let name = try #require(chosen)
        let start = try #require(MessageID("\(name)-start"))
        #expect(await node.accept([push(start.text, to: [1])]).compactMap(\.seq).count == 1)
        time.withLock { $0 = $0 + .seconds(1) }
        let update = Message(
            id: try #require(MessageID("update")), app: LedgerScene.shop, type: MessageType(7, word: "liveactivity"),
            kind: .activity, payload: [1], activity: ActivityPart(.update, isStamped: false))
        #expect(await node.accept([PushRequest(update, to: .activities([name]))]).compactMap(\.seq).count == 1)
        await node.ledger.flush()
        let other = try await LedgerNode(options)
        for log in [node.ledger, other.ledger] {
            let found = try await TraceSearch(log: log).activity(
                name, of: LedgerScene.shop, startedBy: start, addresses: [])
            let lines = found.lines.map { String(decoding: $0, as: UTF8.self) }
            #expect(found.isComplete && lines.count == 2)
            #expect(lines.first?.contains("\"\(start.text)\"") == true && lines.last?.contains("\"update\"") == true)
        }
        await node.ledger.close()
        await other.ledger.close()
    }

    /// Updates of several Live Activities with one id.
    private static func updates(_ id: MessageID) -> [PushRequest] {
        let message = Message(
            id: id, app: LedgerScene.shop, type: MessageType(7, word: "liveactivity"), kind: .activity,
            payload: [1], activity: ActivityPart(.update, isStamped: false))
        return (0..<12).map { PushRequest(message, to: .activities(["order-\($0)"])) }
    }

    @Test func `A rejection in the part of an id does not hide its messages to Live Activities`() async throws {
        let node = try await carriedOut(try await SharedPostgreSQL.shared.store(parts: 8, at: .current()))
        let id = try #require(MessageID("states"))
        var rejected = EventDraft(.messageRejected, app: LedgerScene.shop)
        (rejected.messageID, rejected.reason) = (id, "invalid")
        #expect(await node.ledger.note([rejected]) != nil)
        let seqs = await node.accept(Self.updates(id)).compactMap(\.seq)
        let own = node.ledger.map.partition(of: LedgerScene.shop, id).number
        let subject = TraceSubject.message(id, app: LedgerScene.shop)
        let found = try await node.ledger.trace(subject, limit: 1000)
        let numbers = found.map(\.first)
        let parts = Set(seqs.map { EventNumber.part(of: $0) } + [own])
        #expect(seqs.count == 12 && Set(numbers.map { EventNumber.part(of: $0) }) == parts)
        #expect(numbers == numbers.sorted())
        for count in found.indices.dropFirst() {
            let first = try await node.ledger.trace(subject, limit: count)
            let rest = try await node.ledger.trace(subject, after: found[count - 1].last, limit: 1000)
            #expect(first.map(\.first) == Array(numbers.prefix(count)))
            #expect(rest.map(\.first) == Array(numbers.dropFirst(count)))
        }
        await node.ledger.close()
    }

    @Test func `A part answers at once that it has no message with an id, while it stores others`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 1, at: .current())
        let admin = try await TestSessions.one(to: options.database)
        let permit = SendingPermit()
        let node = try await LedgerNode(options) { $0.permit = permit }
        try await node.open(0, epoch: try await admin.raise(0))
        let heard = EventRecorder<String>()
        let requests = ["unknown", "m"].compactMap { MessageID($0) }
            .map { CancelRequest($0, of: LedgerScene.shop).within([0]) }
        await node.ledger.core.with { core in
            core.take(
                [LedgerWork.accept([push("m")], { _ in heard.record("accepted") })]
                    + requests.map { LedgerWork.cancel([$0], { heard.record($0.first?.word ?? "") }) })
        }
        let order = await wait(for: { node.listener.orders.events }, until: { !$0.isEmpty })[0]
        let stopped = order.parts.map { CancelEnd.Part(seq: $0.seq, fate: .absent) }
        node.ledger.ended([CancelEnd(number: order.number, parts: stopped)], releasing: [])
        await heard.wait(count: 3)
        #expect(heard.events == ["unknown_message", "accepted", "cancelled"])
        // Another node takes the part, and this one does not know it yet. What it remembers is not an answer any more.
        _ = try await admin.raise(0)
        permit.end(at: .distantPast)
        #expect(await node.cancel(requests[0]).word == "failed")
        await node.ledger.close()
        await admin.close()
    }

    @Test func `The events of a device come from all parts, in order`() async throws {
        let node = try await carriedOut(try await SharedPostgreSQL.shared.store(parts: 8, at: .current()))
        let device = node.ledger.identities.device(of: LedgerScene.shop, token: token(100))
        let segments = try await node.ledger.trace(.device(device), limit: .max)
        let numbers = segments.map(\.first)
        #expect(numbers == numbers.sorted() && Set(numbers.map { EventNumber.part(of: $0) }).count == 8)
        let events = try segments.flatMap { try $0.events() }.filter { $0.device == device }
        #expect(events.count == 200)
        let few = try await node.ledger.trace(.device(device), limit: 3)
        #expect(few.map(\.first) == Array(numbers.prefix(3)))
        let after = try await node.ledger.trace(.device(device), after: few[2].last, limit: .max)
        #expect(after.map(\.first) == Array(numbers.dropFirst(3)))
        await node.ledger.close()
    }

    @Test func `Another node finds the same, without any part`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 8, at: .current())
        let node = try await carriedOut(options)
        let other = try await LedgerNode(options)
        let id = try #require(MessageID("m7"))
        let own = try await MessageHistory(log: node.ledger).one(id, app: LedgerScene.shop)
        #expect(own.count == 1)
        #expect(try await MessageHistory(log: other.ledger).one(id, app: LedgerScene.shop) == own)
        await node.ledger.close()
        await other.ledger.close()
    }

    @Test func `Any node finds sent deliveries, and what was reported about them`() async throws {
        let options = try await SharedPostgreSQL.shared.store(parts: 8, at: .current())
        let node = try await carriedOut(options)
        let other = try await LedgerNode(options)
        func id(_ number: Int) throws -> DeliveryID {
            DeliveryID.derived(
                app: LedgerScene.shop, message: try #require(MessageID("m\(number)")), token: token(100))
        }
        let ids = try (0..<200).map { try id($0) }
        let madeUp = DeliveryID(high: 9, low: ids[0].low)
        let device = node.ledger.identities.device(of: LedgerScene.shop, token: token(100))
        for ledger in [node.ledger, other.ledger] {
            let found = try await ledger.sent(ids + [madeUp])
            #expect(Set(found.keys) == Set(ids))
            let message = try #require(MessageID("m3"))
            #expect(found[ids[3]] == SentDelivery(app: LedgerScene.shop, message: message, device: device))
        }
        var event = EventDraft(.deliveryDisplayed, app: LedgerScene.shop)
        (event.messageID, event.device, event.deliveryID) = (MessageID("m3"), device, ids[3])
        #expect(await node.ledger.note([event]) != nil)
        let seq = try #require(await node.accept([push("new", to: [1])])[0].seq)
        let message = try #require(try await node.load([seq]).first)
        node.carryOut(message)
        await node.ledger.flush()
        let new = DeliveryID.derived(app: LedgerScene.shop, message: message.message.id, token: token(1))
        for ledger in [node.ledger, other.ledger] {
            let found = try await ledger.sent([ids[3], ids[4], new])
            #expect(found[ids[3]]?.seen == [.displayed] && found[ids[4]]?.seen == [] && found[new] != nil)
        }
        await node.ledger.close()
        await other.ledger.close()
    }
}
