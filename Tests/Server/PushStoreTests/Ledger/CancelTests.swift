import PushLoop
import PushModel
import PushTime
import TestTraits
import Testing

@testable import PushStore

/// Cancellations on disk: what they end, what they answer, and what a crash leaves of them.
@Suite(.waits) struct LedgerCancelTests {
    private static let shop = LedgerScene.shop

    @Test(arguments: LedgerKind.allCases)
    func `A waiting message ends when its cancellation is stopped, and the answer comes after that`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let seq = try #require(await scene.accept(push("wide", to: [1, 2, 2, 3])).seq)
            let answer = scene.cancel("wide")
            await scene.settled()
            #expect(answer.value == nil)
            let order = try #require(scene.listener.orders.first)
            #expect(order.parts.map(\.seq) == [seq] && order.parts[0].named == 3)
            // From now on the message is not loaded any more.
            #expect(try await scene.load([seq]).isEmpty)
            scene.end(order)
            await scene.settled()
            #expect(answer.value == .cancelled(CancelCounts(sent: 0, cancelled: 3)))
            let events = try scene.messageEvents("wide")
            #expect(events.map(\.topic) == Self.topics("accepted", "cancelled", "completed"))
            #expect(events.last?.details?.contains("\"cancelled\":3") == true)
            #expect(scene.ledger.backlog(of: Self.shop).waiting == 0)
            #expect(await scene.accept(push("wide", to: [1, 2, 2, 3])) == .duplicate(seq: seq))
            #expect(await scene.accept(push("wide", to: [9])) == .duplicate(seq: seq))
            #expect(await scene.accept(push("wide", to: .everyone, again: true)) == .duplicate(seq: seq))
            let again = scene.cancel("wide")
            await scene.settled()
            #expect(again.value == .cancelled(CancelCounts(sent: 0, cancelled: 3)))
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `The apps of a family are cancelled together, and each of them is answered`(kind: LedgerKind) async throws {
        let apps = ["shop", "news", "web"].compactMap { AppID($0) }
        try await withLedger(on: kind) { scene in
            let id = try #require(MessageID("sale"))
            var requests = apps.prefix(2).map { app in
                PushRequest(Message(id: id, app: app, payload: [1]), to: .users(["ada"]))
            }
            requests[1].isJoined = true
            #expect(await scene.accept(requests).count == 2)
            let first = scene.cancel(id, of: apps)
            await scene.settled()
            // One group has stored both. Neither is answered before the deliveries of all are counted.
            #expect(scene.listener.orders.count == 2)
            scene.end(scene.listener.orders[0])
            await scene.settled()
            #expect(first.withLock { $0 } == nil)
            scene.end(scene.listener.orders[1])
            await scene.settled()
            let none = Cancellation.cancelled(CancelCounts())
            #expect(first.withLock { $0 } == [none, none, .unknown])
            try await scene.reopen()
            #expect(scene.backlog.lanes.flatMap(\.seqs).isEmpty)
            let again = scene.cancel(id, of: apps.reversed())
            await scene.settled()
            #expect(again.withLock { $0 } == [.unknown, none, none])
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `A repeated answer tells that the message was to a Live Activity, also after a restart`(kind: LedgerKind)
        async throws
    {
        let message = Message(
            id: try #require(MessageID("state")), app: Self.shop, type: MessageType(7, word: "liveactivity"),
            kind: .activity, payload: [1], activity: ActivityPart(.update, isStamped: false))
        try await withLedger(on: kind) { scene in
            #expect(await scene.accept(PushRequest(message, to: .activities(["order-1"]))).seq != nil)
            let answer = scene.cancel("state")
            await scene.settled()
            let order = try #require(scene.listener.orders.first)
            scene.end(order)
            await scene.settled()
            let expected = Cancellation.cancelled(.ofActivities(sent: 0, cancelled: 0))
            #expect(answer.value == expected)
            for reopens in [false, true] {
                if reopens { try await scene.reopen() }
                let again = scene.cancel("state")
                await scene.settled()
                #expect(again.value == expected)
            }
        }
    }

    /// Returns the turns of a message at a local time, as the ledger gets them.
    private static func turns(_ id: String, at times: [Int64]) -> [PushRequest] {
        times.enumerated().map { place, time in
            let turn = LocalTurn(
                LocalTime(seconds: times[0]), zone: nil, fallback: UnixSeconds(times[0]),
                after: place == 0 ? nil : UnixSeconds(times[place - 1]), isLast: place == times.count - 1,
                dropsLate: false)
            var request = push(id, to: .everyone)
            request = PushRequest(request.message.at(UnixSeconds(time), in: turn), to: request.audience)
            request.isJoined = place > 0
            return request
        }
    }

    @Test(arguments: [false, true], LedgerKind.allCases)
    func `What was sent in earlier turns of a local time counts, also after a restart`(reopens: Bool, kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            let seqs = await scene.accept(Self.turns("morning", at: [now - 5, now + 100, now + 200, now + 300]))
                .compactMap(\.seq)
            #expect(seqs.count == 4)
            let (first, others) = (scene.listener.messages[0], [token(1), token(2)])
            scene.ledger.record(
                scene.sent(first, others), completed: [scene.completed(first, sent: 2)])
            await scene.settled()
            scene.advance(.seconds(150))
            let second = try #require(try await scene.due(at: scene.now).messages.first)
            scene.ledger.record(scene.sent(second, [token(3)]), completed: [scene.completed(second, sent: 1)])
            await scene.settled()
            if reopens { try await scene.reopen() }
            let answer = scene.cancel("morning")
            await scene.settled()
            let order = try #require(scene.listener.orders.first)
            #expect(order.parts.map(\.seq) == Array(seqs[2...]))
            scene.end(order)
            await scene.settled()
            #expect(answer.value == .cancelled(CancelCounts(sent: 3, cancelled: 0)))
            #expect(try scene.messageEvents("morning").contains { $0.details?.contains("\"sent\":3") == true })
            try await scene.reopen()
            let again = scene.cancel("morning")
            await scene.settled()
            #expect(again.value == .cancelled(CancelCounts(sent: 3, cancelled: 0)))
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `What was sent in a turn that ends together with the cancellation counts`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            let seqs = await scene.accept(Self.turns("morning", at: [now - 5, now + 100])).compactMap(\.seq)
            let first = try #require(scene.listener.messages.first)
            // The ledger has both before it can store one. If it stores them apart, the counts are the same.
            let answer = scene.cancel("morning")
            scene.ledger.record(
                scene.sent(first, [token(1), token(2)]), completed: [scene.completed(first, sent: 2)])
            await scene.settled()
            let order = try #require(scene.listener.orders.first)
            #expect(order.parts.map(\.seq) == seqs)
            scene.end(order)
            await scene.settled()
            #expect(answer.value == .cancelled(CancelCounts(sent: 2, cancelled: 0)))
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `A crash before the counts of a family ends the messages of all its apps`(kind: LedgerKind) async throws {
        let apps = ["shop", "news"].compactMap { AppID($0) }
        try await withLedger(on: kind) { scene in
            let id = try #require(MessageID("sale"))
            let requests = apps.map { PushRequest(Message(id: id, app: $0, payload: [1]), to: .users(["ada"])) }
            _ = await scene.accept(requests)
            let answer = scene.cancel(id, of: apps)
            await scene.settled()
            try await scene.reopen()
            #expect(answer.withLock { $0 } == [.failed("the ledger is closed"), .failed("the ledger is closed")])
            #expect(scene.backlog.lanes.flatMap(\.seqs).isEmpty)
            await scene.settled()
            #expect(apps.allSatisfy { scene.ledger.backlog(of: $0).waiting == 0 })
        }
    }

    @Test func `Of a family, one that can be repeated decides, then one that is cancelled`() {
        let counts = Cancellation.cancelled(CancelCounts(sent: 2, cancelled: 3))
        #expect(Cancellation(of: [counts, .tooLate, counts]) == .cancelled(CancelCounts(sent: 4, cancelled: 6)))
        #expect(Cancellation(of: [.unknown, .tooLate]) == .tooLate)
        #expect(Cancellation(of: [.unknown, .unknown]) == .unknown)
        #expect(Cancellation(of: [counts, .failed("full"), .tooLate]) == .failed("full"))
        let most = Cancellation.cancelled(CancelCounts(sent: .max, cancelled: .max))
        #expect(Cancellation(of: [most, most, .unknown]) != .unknown)
    }

    private static func topics(_ kinds: String...) -> [String] { kinds.map { "message/shop/\($0)" } }

    @Test(arguments: LedgerKind.allCases)
    func `A crash between the two groups of a cancellation ends the message at the next start`(kind: LedgerKind)
        async throws
    {
        for isScheduled in [false, true] {
            try await withLedger(on: kind) { scene in
                let due = isScheduled ? scene.now + 1000 : nil
                _ = await scene.accept([push("gone", to: [1, 2], notBefore: due), push("stays")])
                let answer = scene.cancel("gone", by: "desk")
                await scene.settled()
                try await scene.reopen()
                #expect(answer.value == .failed("the ledger is closed"))
                #expect(scene.backlog.lanes.map(\.seqs) == [[2]])
                #expect(scene.backlog.nextDue == nil)
                #expect(await scene.settled().apps[Self.shop]?.waiting == 1)
                for _ in 0..<2 {
                    let events = try await scene.logged("gone")
                    #expect(events.map(\.topic) == Self.topics("accepted", "cancelled", "completed"))
                    #expect(events[1].details?.contains("\"by\":\"desk\"") == true)
                    let again = scene.cancel("gone")
                    await scene.settled()
                    #expect(again.value == .cancelled(CancelCounts(sent: 0, cancelled: 2)))
                    try await scene.reopen()
                }
            }
        }
    }

    @Test func `Deliveries that were in flight at a crash after a cancellation are unknown`() async throws {
        try await withLedger { scene in
            let seq = try #require(await scene.accept(push("wide", to: Array(1...10))).seq)
            let message = try #require(scene.listener.messages.first)
            _ = await scene.claim(seq, "wide", (1...5).map { token($0) })
            scene.ledger.record(scene.sent(message, [token(1), token(2)]), completed: [])
            let answer = scene.cancel("wide")
            await scene.settled()
            let order = try #require(scene.listener.orders.first)
            scene.end(order, .stopped(sent: 2, underWay: 3, cancelled: 5, ended: 2))
            await scene.settled()
            #expect(answer.value == .cancelled(CancelCounts(sent: 5, cancelled: 5)))
            // One of the three is answered before the crash.
            scene.ledger.record(scene.records(message, [token(3)], .sent(providerID: nil)), completed: [])
            try await scene.reopen()
            #expect(scene.backlog.lanes.isEmpty)
            let done = try #require(try await scene.logged("wide").last { $0.topic == "message/shop/completed" })
            #expect(done.details?.contains("\"sent\":3") == true && done.details?.contains("\"unknown\":2") == true)
            #expect(done.details?.contains("\"cancelled\":5") == true)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `A cancellation is too late, unknown, or waits for the first one`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            _ = await scene.accept([push("done"), push("open")])
            scene.carryOut(scene.listener.messages[0])
            await scene.settled()
            let (late, unknown) = (scene.cancel("done"), scene.cancel("none"))
            let (first, second) = (scene.cancel("open"), scene.cancel("open"))
            await scene.settled()
            #expect(late.value == .tooLate && unknown.value == .unknown)
            #expect(first.value == nil && second.value == nil && scene.listener.orders.count == 1)
            // The message is completed before the order is carried out.
            scene.carryOut(scene.listener.messages[1])
            scene.end(scene.listener.orders[0])
            await scene.settled()
            #expect(first.value == .tooLate && second.value == .tooLate)
            let events = try scene.messageEvents("open")
            #expect(events.map(\.topic) == Self.topics("accepted", "completed"))
            // Nothing was cancelled, so another audience of the id is a new message.
            #expect(await scene.accept(push("open", to: [5])).seq != nil)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `All messages with an id are cancelled, in the order of the calls`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            scene.ledger.accept([push("many", to: [1]), push("many", to: [2, 3])]) { _ in }
            let answer = scene.cancel("many")
            scene.ledger.accept([push("many", to: [4])]) { _ in }
            await scene.settled()
            let order = try #require(scene.listener.orders.first)
            #expect(order.parts.map(\.seq) == [1, 2])
            scene.end(order)
            await scene.settled()
            #expect(answer.value == .cancelled(CancelCounts(sent: 0, cancelled: 3)))
        }
    }

    @Test(arguments: LedgerKind.allCases) func `A cancelled id is forgotten after the window`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            _ = await scene.accept(push("old", notBefore: scene.now + 86_400 * 30))
            scene.advance(.seconds(86_400 * 5))
            _ = scene.cancel("old")
            await scene.settled()
            scene.end(scene.listener.orders[0])
            await scene.trim()
            scene.advance(.seconds(86_400 * 3))
            await scene.trim()
            // The key of the message is gone, that of its cancellation is not.
            #expect(await scene.accept(push("old", to: [8])) == .duplicate(seq: 1))
            scene.advance(.seconds(86_400 * 5))
            await scene.trim()
            #expect(await scene.settled().remembered == 0)
            #expect(await scene.accept(push("old", to: [8])).seq != nil)
        }
    }

    @Test func `The cost of a cancellation does not grow with what waits`() async throws {
        var steps: [UInt64] = []
        for count in [10, 20_000] {
            try await withLedger { scene in
                for start in stride(from: 0, to: count, by: 1000) {
                    _ = await scene.accept((start..<min(count, start + 1000)).map { push("m\($0)", to: [$0]) })
                }
                let before = await scene.settled().steps
                _ = scene.cancel("m\(count / 2)")
                await scene.settled()
                scene.end(scene.listener.orders[0])
                steps.append(await scene.settled().steps - before)
            }
        }
        #expect(steps[0] == steps[1])
    }

    @Test(arguments: LedgerKind.allCases) func `A pause survives a restart, and its end does too`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let time = WallTime(milliseconds: 1_700_000_000_000)
            #expect(await scene.pause(Self.shop, since: time) == nil)
            try await scene.reopen()
            #expect(scene.backlog.paused == [Self.shop: time])
            #expect(await scene.pause(Self.shop, since: nil) == nil)
            try await scene.reopen()
            #expect(scene.backlog.paused.isEmpty)
        }
    }
}

/// The answer to a cancellation, once there is one.
final class CancelAnswer: Sendable {
    let answer = Locked<Cancellation?>(nil)
    var value: Cancellation? { answer.withLock { $0 } }
}

extension LedgerScene {
    func cancel(_ id: String, by client: String? = nil) -> CancelAnswer {
        let answer = CancelAnswer()
        ledger.cancel(CancelRequest(MessageID(id)!, of: Self.shop, by: client)) { given in
            answer.answer.withLock { $0 = given }
        }
        return answer
    }

    func cancel(_ id: MessageID, of apps: [AppID]) -> Locked<[Cancellation]?> {
        let answer = Locked<[Cancellation]?>(nil)
        ledger.cancel(apps.map { CancelRequest(id, of: $0) }) { given in answer.withLock { $0 = given } }
        return answer
    }

    func end(_ order: CancelOrder, _ fate: CancelEnd.Fate = .absent) {
        ledger.ended(
            [CancelEnd(number: order.number, parts: order.parts.map { .init(seq: $0.seq, fate: fate) })],
            releasing: [])
    }

    func pause(_ app: AppID, since time: WallTime?) async -> LedgerFault? {
        await withCheckedContinuation { continuation in
            ledger.setPaused(app, since: time) { continuation.resume(returning: $0) }
        }
    }

    fileprivate func messageEvents(_ id: String) throws -> [SeenEvent] {
        try listener.segments.flatMap { try $0.events() }.filter {
            $0.message == id && $0.topic.hasPrefix("message/") && !$0.topic.hasSuffix("duplicate")
        }
    }

    fileprivate func logged(_ id: String) async throws -> [SeenEvent] {
        try await ledger.read(since: 0, limit: 10_000).segments.flatMap { try $0.events() }.filter {
            $0.message == id && $0.topic.hasPrefix("message/") && !$0.topic.hasSuffix("duplicate")
        }
    }
}
