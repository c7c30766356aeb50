import PushModel
import PushTime
import Testing

@testable import PushLogic

/// Messages to Live Activities that end before their turn, or are found in another order than that of acceptance.
@Suite struct RouterActivityOrderTests {
    private typealias F = RouterFixtures
    private typealias A = RouterActivityTests

    private static func backlog(_ seqs: [UInt64]) -> LedgerBacklog {
        LedgerBacklog(lanes: [(Lane(activitiesOf: F.shop), seqs)])
    }

    /// Answers what the router reads and looks up, until it asks for nothing.
    private func answer(_ desk: RouterDesk, _ messages: [AcceptedMessage]) {
        for _ in 0..<20 where !desk.loads.isEmpty || !desk.pages.isEmpty {
            let (loads, pages) = (desk.loads, desk.pages)
            (desk.loads, desk.pages) = ([], [])
            for load in loads {
                let read = load.seqs.compactMap { seq in messages.first { $0.seq == seq } }
                desk.machine.loaded(.success(read), lane: load.lane, seqs: load.seqs)
            }
            for page in pages { desk.machine.pageCame(A.page(), for: page.message) }
            desk.run()
        }
    }

    private func cancel(_ seq: UInt64, _ desk: RouterDesk) {
        let part = CancelOrder.Part(seq: seq, lane: Lane(activitiesOf: F.shop), named: nil, begin: nil)
        desk.machine.cancelled([CancelOrder(number: seq, parts: [part])])
        desk.run()
    }

    // MARK: After a restart

    @Test func `An end that waits is sent after a restart, and not an update that comes before it is read`() {
        let desk = RouterDesk()
        desk.machine.backlog(Self.backlog([1]))
        let messages = [A.update(1, .end), A.update(2), A.update(3)]
        desk.accept(messages[1], messages[2])
        answer(desk, messages)
        #expect(desk.out.map(\.message.id.text) == ["m-1"])
        desk.endAll()
        #expect(Set(desk.records.map(\.seq)) == [1, 2, 3])
        #expect(desk.records.map(\.outcome).filter { $0 == .expiredBecause(.ended) }.count == 2)
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `An end takes the place of an end that waits since before a restart`() {
        let desk = RouterDesk()
        desk.machine.backlog(Self.backlog([1]))
        let messages = [A.update(1, .end), A.update(2, .end), A.update(3)]
        desk.accept(messages[1], messages[2])
        answer(desk, messages)
        #expect(desk.out.map(\.message.id.text) == ["m-2"])
        desk.endAll()
        #expect(desk.records.first { $0.seq == 1 }?.outcome == A.superseded(by: 2))
        #expect(desk.records.first { $0.seq == 3 }?.outcome == .expiredBecause(.ended))
        #expect(desk.machine.leftovers() == [])
    }

    @Test(arguments: [ActivityPart.Event.update, .end])
    func `After a restart no older state is sent if the newer one has expired`(event: ActivityPart.Event) {
        let desk = RouterDesk()
        desk.machine.backlog(Self.backlog([1, 2]))
        desk.run()
        answer(desk, [A.update(1), A.update(2, event, expiresAt: F.second - 10)])
        #expect(desk.out.isEmpty)
        #expect(desk.records.map(\.seq) == [1, 2])
        #expect(desk.records.map(\.outcome) == [A.superseded(by: 2), .expired])
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `The times of acceptance do not go back with the clock over a restart`() {
        let desk = RouterDesk()
        var backlog = Self.backlog([2, 4])
        for (number, time) in [(2, 600), (3, 1200), (4, 800)] as [(UInt64, Int64)] {
            backlog.stored.note(WallTime(seconds: F.second + time), of: number)
        }
        desk.machine.backlog(backlog)
        desk.run()
        func check(_ seq: UInt64, at time: Int64, has shown: Int64) {
            let update = A.update(seq, to: "order-\(seq)", at: F.second + time)
            if seq > 4 { desk.accept(update) }
            answer(
                desk, [(2, 600), (4, 800)].map { A.update($0, to: "order-\($0)", at: F.second + $1) })
            let sent = desk.out.first { $0.message.id.text == "m-\(seq)" }
            #expect(sent.map { ActivityTimestamp.has(UnixSeconds(F.second + shown), $0.message.payload) } == true)
        }
        // What was accepted before the clock was set back keeps its time.
        check(2, at: 600, has: 600)
        check(4, at: 800, has: 1200)
        check(5, at: 0, has: 1200)
        check(6, at: 1100, has: 1200)
        check(7, at: 1300, has: 1300)
    }

    // MARK: Expiry, on disk and in memory

    @Test func `On disk an older state ends before a newer one that expires`() {
        let desk = RouterDesk()
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = [A.update(1), A.update(2, expiresAt: F.second + 60)]
        desk.accept(messages[0], messages[1])
        desk.pass(.seconds(100))
        answer(desk, messages)
        #expect(desk.records.map(\.seq) == [1, 2])
        #expect(desk.records.map(\.outcome) == [A.superseded(by: 2), .expired])
        #expect(desk.machine.leftovers() == [])
    }

    /// The round has come to the second message, and the first one returns to the disk behind it.
    @Test func `A message on disk expires in the next round if an older one was passed over`() {
        var policy = RouterPolicy()
        (policy.look, policy.load) = (1, 1)
        (policy.begunBrief, policy.begunAnyway) = (1, 1)
        let desk = RouterDesk(policy)
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = [
            A.update(1, to: "other", expiresAt: F.second + 10), A.update(2, to: "another"), A.update(3),
            A.update(4, expiresAt: F.second + 10),
        ]
        for message in messages { desk.accept(message) }
        desk.pass(.seconds(20))
        // The first look ends the first message, so that the rest of the round begins with the second.
        #expect(desk.loads.map(\.seqs) == [[1]])
        let first = desk.loads.removeFirst()
        desk.machine.loaded(.success([messages[0]]), lane: first.lane, seqs: first.seqs)
        _ = desk.machine.gateChanged(F.shop, isThere: true)
        desk.report([])
        // The second message begins, and the third one follows it.
        for seq in [2, 3] as [UInt64] {
            #expect(desk.loads.map(\.seqs) == [[seq]])
            let load = desk.loads.removeFirst()
            desk.machine.loaded(.success([messages[Int(seq) - 1]]), lane: load.lane, seqs: load.seqs)
            if seq == 2 { desk.run() }
        }
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        for _ in 0..<4 {
            answer(desk, messages)
            desk.pass(.seconds(5))
        }
        #expect(desk.records.map(\.seq) == [1, 3, 4])
        #expect(desk.records.map(\.outcome) == [.expired, A.superseded(by: 4), .expired])
    }

    @Test func `In memory an older state ends before a newer one that expires`() {
        var policy = RouterPolicy()
        (policy.begunBrief, policy.begunAnyway) = (1, 1)
        let desk = RouterDesk(policy, credit: 0)
        desk.accept(A.update(1, to: "other"), A.update(2), A.update(3, expiresAt: F.second + 60))
        desk.pass(.seconds(100))
        #expect(desk.records.map(\.seq) == [2, 3])
        #expect(desk.records.map(\.outcome) == [A.superseded(by: 3), .expired])
        desk.report([], credit: 10)
        answer(desk, [])
        #expect(desk.out.map(\.message.id.text) == ["m-1"])
        desk.endAll()
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `A cancellation of the newest state does not make an older one wait in its place`() {
        var policy = RouterPolicy()
        (policy.begunBrief, policy.begunAnyway) = (1, 1)
        let desk = RouterDesk(policy, credit: 0)
        desk.accept(A.update(1, to: "other"), A.update(2), A.update(3))
        cancel(3, desk)
        desk.report([], credit: 10)
        answer(desk, [])
        #expect(desk.out.map(\.message.id.text) == ["m-1"])
        desk.endAll()
        answer(desk, [])
        #expect(desk.records.map(\.outcome) == [A.superseded(by: 3), .sent(providerID: nil)])
        #expect(desk.machine.leftovers() == [])
        // The next one is sent.
        desk.accept(A.update(4))
        answer(desk, [])
        #expect(desk.out.map(\.message.id.text) == ["m-4"])
    }

    @Test func `An update behind an end is not sent when the end has been taken`() {
        var policy = RouterPolicy()
        policy.loadedMessages = 1
        policy.laneFloor = 1
        let desk = RouterDesk(policy)
        let messages = [A.update(1, .end), A.update(2)]
        desk.accept(messages[0])
        answer(desk, messages)
        desk.accept(messages[1])
        desk.endAll()
        answer(desk, messages)
        #expect(desk.records.map(\.outcome) == [.sent(providerID: nil), .expiredBecause(.ended)])
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `A message that expires while the registry does not answer is counted`() {
        let desk = RouterDesk()
        desk.accept(A.update(1, expiresAt: F.second + 60))
        for page in desk.pages { desk.machine.pageFailed(for: page.message, error: "locked") }
        desk.pages = []
        desk.pass(.seconds(100))
        #expect(desk.completed.map(\.counts.expired) == [1])
        #expect(desk.records.map(\.outcome) == [.expired])
        #expect(desk.machine.leftovers() == [])
    }

    // MARK: Messages that wait for an address

    private func park(_ desk: RouterDesk) {
        desk.accept(A.update(1, expiresAt: F.second + 60))
        for page in desk.pages { desk.machine.pageCame(A.page([]), for: page.message) }
        desk.pages = []
        desk.run()
    }

    @Test func `The router rests while its lease has run out, whatever is due`() {
        let desk = RouterDesk()
        park(desk)
        desk.machine.backlog(LedgerBacklog(nextDue: UnixSeconds(F.second + 60)))
        #expect(desk.machine.nextDeadline.map { $0 > desk.now } == true)
        desk.machine.suspended(true)
        desk.pass(.seconds(100))
        #expect(desk.machine.nextDeadline == nil)
        desk.machine.suspended(false)
        desk.run()
        #expect(desk.loads.map(\.seqs) == [[1]] && desk.due.count == 1)
    }

    @Test func `A drop ends a message that waits for an address`() {
        let desk = RouterDesk()
        park(desk)
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        desk.run()
        #expect(desk.machine.drop(F.shop) == 1)
        desk.run()
        answer(desk, [A.update(1, expiresAt: F.second + 60)])
        #expect(desk.completed.map(\.failure) == [.dropped])
        #expect(desk.completed.map(\.counts.expired) == [1])
        #expect(desk.machine.unfinished == 0)
    }
}
