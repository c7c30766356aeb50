import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Nodes that pass each other what producers send, over real sockets.
@Suite(.waits) struct ForwardingTests {
    @Test func `Each request is answered by the owner of its partition, in the order of the requests`() async throws {
        let nodes = [try await PeerNode("a"), try await PeerNode("b"), try await PeerNode("c")]
        await PeerNode.introduce(nodes)
        let requests = PeerRequest.make(60)
        let map = try #require(PartitionMap(count: 16))
        let first = await nodes[0].acceptInTheEnd(requests)
        // All nodes know them now, whichever node is asked.
        for node in nodes {
            let answers = await node.acceptInTheEnd(requests)
            for (one, other) in zip(first, answers) { #expect(other == .duplicate(seq: one.number)) }
        }
        for (index, node) in nodes.enumerated() {
            let own = requests.filter { map.partition(of: $0.message.app, $0.message.id).number % 3 == index }
            let ids = Set(node.ledger.requests.map(\.message.id))
            #expect(!own.isEmpty && ids == Set(own.map(\.message.id)))
            for got in node.ledger.requests {
                #expect(got.client == "orders" && got.audience == .users(["ann", "bob"]))
                #expect(got.message.payload == requests[0].message.payload)
            }
        }
        for node in nodes { await node.stop() }
    }

    @Test func `A node answers questions about itself, and one that does not is given up in time`() async throws {
        let held = Locked<[@Sendable ([UInt8]?) -> Void]>([])
        let a = try await PeerNode("a")
        let b = try await PeerNode("b") {
            $0.answer = { question, reply in
                switch question.first {
                case 1: reply(question + [9])
                case 2: reply(nil)
                default: held.withLock { $0.append(reply) }
                }
            }
        }
        await PeerNode.introduce([a, b])
        // The connection takes a moment.
        await wait(while: await a.peers.ask([1, 2], of: b.id, within: .seconds(30)) != .success([1, 2, 9]))
        let strange = await a.peers.ask([2], of: b.id, within: .seconds(30))
        #expect(strange.fault?.contains("does not understand the question") == true)
        let late = await a.peers.ask([3], of: b.id, within: .milliseconds(50))
        #expect(late.fault?.contains("node b has not answered within") == true)
        // An answer that comes after that is dropped.
        for reply in held.withLock({ $0 }) { reply([4]) }
        #expect(await a.peers.ask([1], of: b.id, within: .seconds(30)) == .success([1, 9]))
        // Node a has nobody who answers, and z is no node.
        let mute = await b.peers.ask([1], of: a.id, within: .seconds(30))
        #expect(
            mute.fault?.contains("does not answer questions") == true || mute.fault?.contains("not connected") == true)
        let nobody = await a.peers.ask([1], of: NodeID("z")!, within: .seconds(30))
        #expect(nobody.fault?.contains("not connected") == true)
        await a.stop()
        await b.stop()
        // A question that came late still waits here. It would keep all objects of the node alive.
        held.withLock { $0 = [] }
    }

    @Test func `A large group goes in several messages and is answered as one`() async throws {
        let a = try await PeerNode("a") { $0.maxMessageBytes = 300 }
        let b = try await PeerNode("b")
        await PeerNode.introduce([a, b])
        let requests = PeerRequest.make(50) { $0 % 2 == 1 }
        // Requests that arrived before the connection are repeated, and get their numbers later than others.
        let first = await a.acceptInTheEnd(requests)
        #expect(first.allSatisfy { !$0.isFailure } && Set(first.map(\.number)) == Set(1...50))
        let groups = b.ledger.facts.groups
        #expect(groups.count > 5)
        let answers = await a.accept(requests)
        #expect(answers == first.map { .duplicate(seq: $0.number) })
        await a.stop()
        await b.stop()
    }

    @Test func `A cancellation asks all parts, because any may have messages to Live Activities`() async throws {
        let (a, b) = try await PeerNode.pair()
        let requests = PeerRequest.make(1) { $0 % 2 == 1 } + PeerRequest.make(1) { $0 % 2 == 0 }
        _ = await a.acceptInTheEnd(requests)
        let id = try #require(MessageID("activities-1"))
        // Both nodes have some of them.
        #expect(
            await a.cancel(CancelRequest(id, of: PeerRequest.app, by: "orders"))
                == .cancelled(.ofActivities(sent: 2, cancelled: 4)))
        let own = PartitionMap(count: 16)?.partition(of: PeerRequest.app, id).number
        let asked = (a.ledger.elsewhere + b.ledger.elsewhere).flatMap { $0.parts ?? [] }
        #expect(asked.sorted() == (0..<16).filter { $0 != own })
        #expect((a.ledger.elsewhere + b.ledger.elsewhere).allSatisfy { $0.client == "orders" })
        let none = try #require(MessageID("none"))
        #expect(await a.cancel(CancelRequest(none, of: PeerRequest.app)) == .unknown)
        // What cannot be asked may have some. A message to others is cancelled anyway.
        b.ledger.fail("disk full")
        #expect(await a.cancel(CancelRequest(id, of: PeerRequest.app)).isFailure)
        #expect(await a.cancel(CancelRequest(none, of: PeerRequest.app)).isFailure)
        let other = CancelRequest(requests[1].message.id, of: PeerRequest.app)
        #expect(await a.cancel(other) == .cancelled(CancelCounts(sent: 3, cancelled: 4)))
        await a.stop()
        await b.stop()
    }

    @Test func `A part that has no owner may have messages to Live Activities`() async throws {
        let a = try await PeerNode("a")
        await a.know([:], owner: { $0 == 3 ? nil : a.id })
        let request = PeerRequest.make(1) { $0 == 4 }
        _ = await a.accept(request)
        #expect(await a.cancel(CancelRequest(request[0].message.id, of: PeerRequest.app)).isFailure == false)
        let unknown = PeerRequest.make(2) { $0 == 4 }[1].message.id
        #expect(await a.cancel(CancelRequest(unknown, of: PeerRequest.app)).isFailure)
        // What was too late in the part of its id may wait in others, but not what was cancelled for another app.
        let late = try #require(AppID("late"))
        let id = request[0].message.id
        var member = PushRequest(Message(id: id, app: late, payload: [1]), to: .users(["ann"]))
        member.isJoined = true
        _ = await a.accept([request[0], member])
        let family = [PeerRequest.app, late].map { CancelRequest(id, of: $0) }
        #expect(await a.cancel(family) == [.cancelled(CancelCounts(sent: 3, cancelled: 4)), .tooLate])
        #expect(await a.cancel(family[1]).isFailure)
        await a.stop()
    }

    @Test func `What was cancelled as a whole in the part of its id is not looked for at other nodes`() async throws {
        let (a, b) = try await PeerNode.pair()
        let own = PeerRequest.make(1) { $0 % 2 == 0 }
        _ = await a.acceptInTheEnd(own + PeerRequest.make(1) { $0 % 2 == 1 })
        b.ledger.hold()
        let answer = await a.cancel(CancelRequest(own[0].message.id, of: PeerRequest.app))
        #expect(answer == .cancelled(CancelCounts(sent: 3, cancelled: 4)))
        #expect(a.ledger.elsewhere.isEmpty && b.ledger.elsewhere.isEmpty)
        await a.stop()
        await b.stop()
    }

    @Test func `A repeated cancellation fails like the first one while a part cannot be asked`() async throws {
        let (a, b) = try await PeerNode.pair()
        _ = await a.acceptInTheEnd(PeerRequest.make(1) { $0 % 2 == 1 })
        b.ledger.fail("disk full")
        let map = try #require(PartitionMap(count: 16))
        let ids = (0..<64).compactMap { MessageID("activities-\($0)") }
        let id = try #require(ids.first { map.partition(of: PeerRequest.app, $0).number % 2 == 0 })
        for _ in 0..<2 { #expect(await a.cancel(CancelRequest(id, of: PeerRequest.app)).isFailure) }
        b.ledger.fail(nil)
        let counts = CancelCounts.ofActivities(sent: 2, cancelled: 4)
        for _ in 0..<2 { #expect(await a.cancel(CancelRequest(id, of: PeerRequest.app)) == .cancelled(counts)) }
        await a.stop()
        await b.stop()
    }

    @Test func `The failure of one part is the answer of all, in whatever order they answer`() {
        let cancelled = Cancellation.cancelled(CancelCounts(sent: 1, cancelled: 2))
        let failed = Cancellation.failed("disk full")
        for order in [[cancelled, failed], [failed, cancelled]] {
            var joined = JoinedCancellations([.unknown], calls: 2)
            #expect(order.map { joined.take([$0]) } == [nil, [failed]])
        }
    }

    @Test func `A request to cancel in parts is read as it was written, and not if it is damaged`() throws {
        let id = try #require(MessageID("m"))
        let parts = [0, 7, 255]
        let requests = ["shop", "news"].compactMap { AppID($0) }.map { app in
            CancelRequest(id, of: app, by: "x").within(parts)
        }
        func read(_ bytes: [UInt8]) -> [CancelRequest]? {
            bytes.withUnsafeBytes { ForwardedCall.cancellations($0) }
        }
        let bytes = ForwardedCall.bytes(requests)
        #expect(read(bytes) == requests)
        for end in 1..<bytes.count { #expect(read(Array(bytes[..<end])) != requests) }
        // No part, other parts for another app, and a part that no ledger has.
        #expect(read(ForwardedCall.bytes([requests[0].within([])])) == nil)
        #expect(read(ForwardedCall.bytes([requests[0], requests[1].within([parts[1]])])) == nil)
        var large = ForwardedCall.bytes([requests[0].within([parts[0]])])
        large.removeLast()
        large.appendVarint(UInt64(PartitionID.maxCount))
        #expect(read(large) == nil)
        let answer = ForwardedAnswer.cancellations([.cancelled(.ofActivities(sent: 1, cancelled: 2))])
        #expect(answer.bytes.withUnsafeBytes { ForwardedAnswer($0, count: 1) } == answer)
    }

    @Test func `Cancellations and notifications of stores go to the owner, too`() async throws {
        let (a, b) = try await PeerNode.pair()
        let requests = PeerRequest.make(1) { $0 % 2 == 1 }
        _ = await a.acceptInTheEnd(requests)
        let id = requests[0].message.id
        let cancelled = await a.cancel(CancelRequest(id, of: PeerRequest.app, by: "orders"))
        #expect(cancelled == .cancelled(CancelCounts(sent: 3, cancelled: 4)))
        #expect(b.ledger.cancels == [CancelRequest(id, of: PeerRequest.app, by: "orders")])
        #expect(a.ledger.cancels.isEmpty)
        var event = EventDraft(.messageRejected, app: PeerRequest.app)
        event.reason = "reason"
        event.add("text", text: "größe")
        event.add("number", number: -5)
        event.details.append(EventDraft.Detail("flag", value: .flag(true)))
        event.details.append(EventDraft.Detail("numbers", value: .numbers(["one": 1, "two": .min])))
        let receipt = ReceivedReceipt(event, id: id.text, app: PeerRequest.app)
        #expect(await a.forwardingReceipts.take(receipt) == .stored(1))
        #expect(await a.forwardingReceipts.take(receipt) == .duplicate)
        let taken = try #require(b.receipts.taken.events.first)
        #expect(taken.id == id.text && taken.app == PeerRequest.app && taken.event.kind == .messageRejected)
        #expect(taken.event.reason == "reason" && taken.event.details == event.details)
        #expect(a.receipts.taken.events.isEmpty)
        await a.stop()
        await b.stop()
    }

    @Test func `A hint arrives, and only from members`() async throws {
        let (a, b) = try await PeerNode.pair()
        _ = await a.acceptInTheEnd(PeerRequest.make(1) { $0 % 2 == 1 })
        a.peers.hint(b.id)
        await b.hints.wait(count: 1)
        await b.know([:], owner: { _ in b.id })
        a.peers.hint(b.id)
        // The call after the hint is refused, so the hint before it was read.
        #expect(await a.accept(PeerRequest.make(1) { $0 % 2 == 1 })[0].isFailure)
        #expect(b.hints.events.count == 1 && a.hints.events.isEmpty)
        await a.stop()
        await b.stop()
    }

    // MARK: Owners that changed

    @Test func `A request that was passed on is never passed on again`() async throws {
        let (a, b) = try await PeerNode.pair()
        _ = await a.acceptInTheEnd(PeerRequest.make(1) { $0 % 2 == 1 })
        // Each believes that the other owns everything.
        await a.know([b.id: b.contact], owner: { _ in b.id })
        await b.know([a.id: a.contact], owner: { _ in a.id })
        let before = b.ledger.requests.count
        let requests = PeerRequest.make(20)
        for answer in await a.accept(requests) {
            #expect(answer.failure?.contains("has moved away from node b") == true)
        }
        #expect(await a.cancel(CancelRequest(requests[0].message.id, of: PeerRequest.app)).isFailure)
        #expect(a.ledger.requests.isEmpty && b.ledger.requests.count == before && b.ledger.cancels.isEmpty)
        #expect(a.stale.events.count == 2)
        await a.stop()
        await b.stop()
    }

    @Test func `Requests of which the other node owns a part are answered one by one`() async throws {
        let (a, b) = try await PeerNode.pair()
        _ = await a.acceptInTheEnd(PeerRequest.make(1) { $0 % 2 == 1 })
        await a.know([b.id: b.contact], owner: { _ in b.id })
        let map = try #require(PartitionMap(count: 16))
        let requests = PeerRequest.make(40)
        for (request, answer) in zip(requests, await a.accept(requests)) {
            let isOwned = map.partition(of: request.message.app, request.message.id).number % 2 == 1
            #expect(answer.isFailure == !isOwned)
        }
        await a.stop()
        await b.stop()
    }

    @Test func `A partition without an owner fails, and so does one of an unknown node`() async throws {
        let a = try await PeerNode("a")
        await a.know([:], owner: { _ in nil })
        let requests = PeerRequest.make(3)
        for answer in await a.accept(requests) { #expect(answer.failure?.contains("no node of the cluster") == true) }
        #expect(await a.cancel(CancelRequest(requests[0].message.id, of: PeerRequest.app)).isFailure)
        await a.stop()
    }

    // MARK: Keys

    @Test func `A node is admitted only while its key is in the table`() async throws {
        let (a, c) = (try await PeerNode("a"), try await PeerNode("c"))
        await a.know([:], owner: { _ in a.id })
        await c.know([a.id: a.contact], owner: { _ in a.id })
        await a.warnings.wait { $0.contains { $0.contains("unknown public key") } }
        let requests = PeerRequest.make(2)
        for answer in await c.accept(requests) { #expect(answer.isFailure) }
        #expect(a.ledger.requests.isEmpty)
        // It joins, and connects without being restarted.
        await a.know([c.id: c.contact], owner: { _ in a.id })
        #expect(await c.acceptInTheEnd(requests).map(\.number) == [1, 2])
        // It is declared dead. Its connection lasts, but it is not heard.
        await a.know([:], owner: { _ in a.id })
        let answers = await c.accept(PeerRequest.make(5))
        for answer in answers { #expect(answer.isFailure) }
        #expect(a.ledger.requests.count == 2)
        await a.stop()
        await c.stop()
    }

    @Test func `A node with another key than the table says gets nothing`() async throws {
        let (a, b) = (try await PeerNode("a"), try await PeerNode("b"))
        let wrong = NodeContact(address: b.contact.address, publicKey: try CurveKeyPair.generate().publicKey.z85)
        await a.know([b.id: wrong], owner: { _ in b.id })
        await b.know([a.id: a.contact], owner: { _ in b.id })
        for _ in 0..<20 { #expect(await a.accept(PeerRequest.make(1))[0].isFailure) }
        #expect(b.ledger.requests.isEmpty)
        // The row of the node is corrected.
        await a.know([b.id: b.contact], owner: { _ in b.id })
        #expect(await a.acceptInTheEnd(PeerRequest.make(1)).map(\.number) == [1])
        await a.stop()
        await b.stop()
    }

    // MARK: Nodes that do not answer

    @Test func `A request without an answer fails, and its repetition is recognized`() async throws {
        let a = try await PeerNode("a") { $0.timeout = .milliseconds(300) }
        let b = try await PeerNode("b")
        await PeerNode.introduce([a, b])
        let warm = PeerRequest.make(1) { $0 % 2 == 1 }
        _ = await a.acceptInTheEnd(warm)
        b.ledger.hold()
        let requests = PeerRequest.make(5) { $0 % 2 == 1 }
        for answer in await a.accept(requests) { #expect(answer.failure?.contains("not answered in time") == true) }
        b.ledger.release()
        // The late answer is not expected any more.
        await a.strange.wait(count: 1)
        #expect(await a.acceptInTheEnd(requests).map(\.number) == [1, 2, 3, 4, 5])
        await a.stop()
        await b.stop()
    }

    @Test func `When a node vanishes, what it has not answered fails`() async throws {
        let (a, b) = try await PeerNode.pair()
        _ = await a.acceptInTheEnd(PeerRequest.make(1) { $0 % 2 == 1 })
        b.ledger.hold()
        let requests = PeerRequest.make(5) { $0 % 2 == 1 }
        async let answers = a.accept(requests)
        await b.ledger.wait { $0.groups.count == 2 }
        await b.stop()
        for answer in await answers { #expect(answer.failure?.contains("was lost") == true) }
        // What comes later fails at once.
        for answer in await a.accept(requests) { #expect(answer.isFailure) }
        await a.stop()
    }

    @Test func `When a node stops, what others have not answered it fails`() async throws {
        let (a, b) = try await PeerNode.pair()
        _ = await a.acceptInTheEnd(PeerRequest.make(1) { $0 % 2 == 1 })
        b.ledger.hold()
        async let answers = a.accept(PeerRequest.make(5) { $0 % 2 == 1 })
        await b.ledger.wait { $0.groups.count == 2 }
        await a.peers.stop()
        for answer in await answers { #expect(answer.failure?.contains("shuts down") == true) }
        await a.stop()
        await b.stop()
    }

    // MARK: Bounds

    @Test func `No more is sent than the limits allow`() async throws {
        let requests = PeerRequest.make(3) { $0 % 2 == 1 }
        for limit in [true, false] {
            let a = try await PeerNode("a") { settings in
                if limit { settings.maxUnansweredCalls = 2 } else { settings.maxUnansweredBytes = 150 }
            }
            let b = try await PeerNode("b")
            await PeerNode.introduce([a, b])
            _ = await a.acceptInTheEnd([requests[0]])
            b.ledger.hold()
            async let first = a.accept([requests[0]])
            async let second = a.accept([requests[1]])
            await b.ledger.wait { $0.groups.count == 3 }
            #expect(await a.accept([requests[2]])[0].failure?.contains("has not answered 2 earlier calls") == true)
            b.ledger.release()
            #expect(await first + second == [.duplicate(seq: 1), .accepted(seq: 2)])
            #expect(await a.accept([requests[2]]) == [.accepted(seq: 3)])
            await a.stop()
            await b.stop()
        }
    }

    @Test func `A node takes no more than it has room for`() async throws {
        let a = try await PeerNode("a")
        let b = try await PeerNode("b") { $0.maxOpenBytes = 150 }
        await PeerNode.introduce([a, b])
        let requests = PeerRequest.make(3) { $0 % 2 == 1 }
        _ = await a.acceptInTheEnd([requests[0]])
        b.ledger.hold()
        async let first = a.accept([requests[0]])
        async let second = a.accept([requests[1]])
        await b.ledger.wait { $0.groups.count == 3 }
        #expect(await a.accept([requests[2]])[0].failure?.contains("too many open calls") == true)
        b.ledger.release()
        #expect(await first + second == [.duplicate(seq: 1), .accepted(seq: 2)])
        #expect(await a.accept([requests[2]]) == [.accepted(seq: 3)])
        await a.stop()
        await b.stop()
    }
}

extension Acceptance {
    /// The number, for a request that is known or new.
    var number: UInt64 {
        switch self {
        case .accepted(let seq), .duplicate(let seq): seq
        case .conflict, .expired, .failed, .crowded, .withheld: 0
        }
    }
}

extension Result<[UInt8], LedgerFault> {
    fileprivate var fault: String? { if case .failure(let fault) = self { fault.description } else { nil } }
}
