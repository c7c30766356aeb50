import PushModel
import Testing

@testable import PushLogic

/// Cancellations in the router: what stops, what is counted, and when the order is answered.
@Suite struct RouterCancelTests {
    private typealias F = RouterFixtures

    private func order(_ message: AcceptedMessage, named: Int?) -> CancelOrder {
        CancelOrder(
            number: message.seq,
            parts: [
                CancelOrder.Part(
                    seq: message.seq, lane: Lane(of: message.message, to: message.audience), named: named,
                    begin: message.begin)
            ])
    }

    @Test func `A broadcast stops, and its order waits for the gateway to return what it has not written`() {
        let desk = RouterDesk(credit: 30)
        let wide = F.accepted(1, to: F.tokens(0..<100))
        desk.accept(wide)
        #expect(desk.out.count == 30)
        desk.answersRecalls = false
        desk.machine.cancelled([order(wide, named: 100)])
        desk.run()
        #expect(desk.recalls == [1] && desk.cancelEnds.isEmpty && desk.completed.isEmpty)
        #expect(desk.releases.reduce(0) { $0 + $1.devices.count } == 70)
        // The gateway returns 20 that it has not written; 10 are in flight.
        let back = desk.out.suffix(20)
        desk.out.removeLast(20)
        desk.machine.reported(
            GatewayReport(
                app: F.shop, deliveries: back.map { DeliveryReport(of: $0, nil, latency: .zero) }, credit: 1000,
                taken: 30, recalled: 1))
        desk.run()
        #expect(
            desk.cancelEnds == [
                CancelEnd(
                    number: 1,
                    parts: [.init(seq: 1, fate: .stopped(sent: 0, underWay: 10, cancelled: 90, ended: 0))])
            ])
        #expect(desk.out.count == 10 && desk.completed.isEmpty)
        // One is refused for now: it is not sent again.
        let first = desk.out.removeFirst()
        desk.report([(first, .retry(Refusal(status: 503, reason: nil), after: .seconds(1)))])
        desk.endAll()
        #expect(desk.completed.first?.counts.sent == 9 && desk.completed.first?.counts.cancelled == 91)
        desk.pass(.seconds(10))
        #expect(desk.out.isEmpty && desk.completed.count == 1)
    }

    /// Returns a desk with a message to everyone whose three devices were found and are being claimed.
    private func claiming() -> (desk: RouterDesk, message: AcceptedMessage) {
        let desk = RouterDesk()
        desk.answersClaims = false
        let message = F.accepted(1, to: .everyone)
        desk.accept(message)
        desk.machine.pageCame(
            AudiencePage(devices: (0..<3).map { AudiencePage.Device(id: F.device($0), token: F.token($0)) }, next: nil),
            for: desk.pages[0].message)
        desk.run()
        return (desk, message)
    }

    @Test(
        arguments: [
            ([.new, .new, .new], 3), ([.new, .had, .done], 1), ([.had, .had, .had], 0), ([], 0),
        ] as [([ClaimVerdict], UInt64)])
    func `An order waits for the claim that is on its way, and counts what it gets`(
        _ verdicts: [ClaimVerdict], cancelled: UInt64
    ) {
        let (desk, message) = claiming()
        desk.machine.cancelled([order(message, named: nil)])
        desk.run()
        desk.pass(.seconds(60))
        #expect(desk.claims.count == 1 && desk.cancelEnds.isEmpty && desk.completed.isEmpty)
        // The ledger may also fail to claim.
        desk.machine.claimed(verdicts.isEmpty ? [] : [verdicts], for: desk.claims[0].messages)
        desk.run()
        #expect(
            desk.cancelEnds == [
                CancelEnd(
                    number: 1,
                    parts: [.init(seq: 1, fate: .stopped(sent: 0, underWay: 0, cancelled: cancelled, ended: 0))])
            ])
        #expect(desk.completed.map(\.seq) == [1] && desk.completed.first?.counts.total == cancelled)
        #expect(desk.completed.first.map { UInt64($0.counts.cancelled) } == cancelled)
        #expect(desk.releases.reduce(0) { $0 + $1.devices.count } == cancelled)
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `An order waits for a claim also when its part closes, and when the process stops`() {
        for closes in [true, false] {
            let (desk, message) = claiming()
            desk.machine.cancelled([order(message, named: nil)])
            desk.run()
            if closes { desk.machine.closed(PartitionID(0)!) } else { desk.machine.stop() }
            desk.run()
            #expect(desk.cancelEnds.isEmpty)
            desk.machine.claimed(closes ? [] : [[.new, .new, .new]], for: desk.claims[0].messages)
            desk.run()
            #expect(desk.cancelEnds.map(\.number) == [1] && desk.completed.map(\.seq) == [1])
            #expect(desk.completed.first?.counts.cancelled == (closes ? 0 : 3))
        }
    }

    @Test func `What a look-up finds after the cancellation counts neither in the answer nor in the completion`() {
        let desk = RouterDesk()
        let message = F.accepted(1, to: .everyone)
        desk.accept(message)
        desk.machine.cancelled([order(message, named: nil)])
        desk.run()
        #expect(
            desk.cancelEnds.map(\.parts) == [
                [.init(seq: 1, fate: .stopped(sent: 0, underWay: 0, cancelled: 0, ended: 0))]
            ])
        #expect(desk.completed.isEmpty)
        desk.machine.pageCame(
            AudiencePage(devices: [AudiencePage.Device(id: F.device(0), token: F.token(0))], next: nil),
            for: desk.pages[0].message
        )
        desk.run()
        #expect(desk.claims.isEmpty && desk.completed.map(\.counts) == [OutcomeCounts()])
        #expect(desk.machine.leftovers() == [])
    }

    /// The router may complete a message while its cancellation is on its way.
    @Test func `An order that comes after the completion leaves nothing behind`() {
        var policy = RouterPolicy()
        policy.loadedMessages = 1
        policy.load = 2
        let desk = RouterDesk(policy)
        let first = F.accepted(1, to: F.tokens(0..<1))
        desk.accept(first)
        desk.endAll()
        #expect(desk.completed.map(\.seq) == [1])
        desk.machine.cancelled([order(first, named: 1)])
        desk.run()
        #expect(desk.cancelEnds.map(\.parts) == [[.init(seq: 1, fate: .absent)]])
        #expect(desk.machine.leftovers() == [])
        // The same while messages of the lane are on disk.
        let messages = (UInt64(2)...40).map { F.accepted($0, to: F.tokens(Int($0)..<Int($0) + 1)) }
        desk.machine.accepted(messages)
        desk.run()
        desk.machine.cancelled([order(first, named: 1)])
        desk.run()
        for _ in 0..<100 where desk.completed.count < 40 {
            desk.endAll()
            for load in exchange(&desk.loads, with: []) {
                let read = messages.filter { load.seqs.contains($0.seq) }
                desk.machine.loaded(.success(read), lane: load.lane, seqs: load.seqs)
            }
            desk.run()
        }
        #expect(desk.completed.count == 40)
        #expect(desk.machine.leftovers() == [])
    }

    /// The ledger takes a message that it does not know to be complete for one that was never sent.
    @Test func `The completion of a message precedes the answer to an order that comes in the same tick`() {
        let desk = RouterDesk()
        let (first, second) = (F.accepted(1, to: F.tokens(0..<1)), F.accepted(2, to: F.tokens(1..<2)))
        desk.accept(first, second)
        let sent = DeliveryReport(of: desk.out[0], .sent(providerID: nil), latency: .zero)
        desk.machine.reported(GatewayReport(app: F.shop, deliveries: [sent], credit: 1000, taken: 2))
        desk.machine.cancelled([order(first, named: 1), order(second, named: 1)])
        let asking = desk.machine.run().actions
        // Nothing of the first message is at a gateway, so that its order is answered at once.
        #expect(asking.earlierCompleted.map(\.seq) == [1] && asking.completed.isEmpty)
        #expect(asking.cancelEnds.map(\.number) == [1])
        let later = DeliveryReport(of: desk.out[1], .sent(providerID: nil), latency: .zero)
        desk.machine.reported(GatewayReport(app: F.shop, deliveries: [later], credit: 1000, taken: 2, recalled: 1))
        let ending = desk.machine.run().actions
        #expect(ending.earlierRecords.map(\.seq) == [2] && ending.earlierCompleted.isEmpty)
        #expect(ending.cancelEnds.map(\.number) == [2])
        // The event of a cancellation comes before the completion of its message.
        #expect(ending.records.isEmpty && ending.completed.map(\.seq) == [2])
    }

    @Test func `An order without a delivery under way is answered after what the tick has recorded`() {
        let desk = RouterDesk()
        let only = F.accepted(1, to: F.tokens(0..<1))
        desk.accept(only)
        let sent = DeliveryReport(of: desk.out[0], .sent(providerID: nil), latency: .zero)
        desk.machine.reported(GatewayReport(app: F.shop, deliveries: [sent], credit: 1000, taken: 1))
        desk.machine.cancelled([order(only, named: 1)])
        let actions = desk.machine.run().actions
        #expect(actions.cancelEnds.map(\.parts) == [[.init(seq: 1, fate: .absent)]])
        #expect(actions.earlierCompleted.map(\.seq) == [1] && actions.completed.isEmpty)
    }

    @Test func `A message that is not in memory is left to the ledger, and its number is removed later`() {
        var policy = RouterPolicy()
        policy.loadedMessages = 1
        let desk = RouterDesk(policy, credit: 0)
        let messages = (UInt64(1)...3000).map { F.accepted($0, to: F.tokens(Int($0)..<Int($0) + 1)) }
        desk.machine.accepted(messages)
        desk.run()
        let gone = messages.suffix(1500)
        desk.machine.cancelled(gone.map { order($0, named: 1) })
        desk.run()
        #expect(desk.cancelEnds.count == 1500)
        #expect(desk.cancelEnds.allSatisfy { $0.parts.allSatisfy { $0.fate == .absent } })
        #expect(desk.machine.unfinished == 1500)
        #expect(desk.machine.status().apps[0].lines.reduce(0) { $0 + $1.spilled } < 2000)
    }

    /// The ledger reads after it has cancelled, and the router may learn of both in one tick.
    @Test(arguments: [1, 1500], [false, true])
    func `A message is counted once that is cancelled while it is being read`(_ count: Int, _ isOneTick: Bool) throws {
        var policy = RouterPolicy()
        policy.loadedMessages = 1
        policy.laneFloor = 1
        policy.load = 1
        let desk = RouterDesk(policy)
        let messages = (UInt64(1)...3000).map {
            F.accepted($0, to: F.tokens(Int($0)..<Int($0) + 1), at: F.second + Int64(min($0, 1000)))
        }
        desk.machine.accepted(messages)
        desk.run()
        desk.endAll()
        let load = try #require(desk.loads.first)
        #expect(load.seqs == [2])
        desk.machine.cancelled(messages[1...count].map { order($0, named: 1) })
        if !isOneTick { desk.run() }
        desk.machine.loaded(.success([]), lane: load.lane, seqs: load.seqs)
        desk.run()
        #expect(desk.cancelEnds.flatMap(\.parts).allSatisfy { $0.fate == .absent })
        let wait = desk.machine.waits().first?.messages
        #expect(desk.machine.unfinished == 2999 - count && wait?.count == 2999 - count)
        #expect(wait?.oldest == messages[1 + count].acceptedAt)
    }

    @Test func `A paused app sends nothing, and its messages expire`() {
        let desk = RouterDesk()
        desk.machine.setPaused(true, app: F.shop)
        desk.accept(F.accepted(1, to: F.tokens(0..<1)), F.accepted(2, to: F.tokens(1..<2), expiresAt: F.second + 5))
        #expect(desk.out.isEmpty)
        desk.pass(.seconds(20))
        #expect(desk.completed.map(\.seq) == [2] && desk.completed[0].counts.expired == 1)
        desk.machine.setPaused(false, app: F.shop)
        desk.run()
        #expect(desk.out.map(\.message.id.text) == ["m-1"])
    }
}
