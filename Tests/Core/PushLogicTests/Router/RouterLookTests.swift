import PushLogic
import PushModel
import PushTime
import Testing

/// The search for expired messages on disk: how much it reads, how often, and what it must not change.
@Suite struct RouterLookTests {
    private typealias F = RouterFixtures

    private func desk(credit: Int = 0, _ change: (inout RouterPolicy) -> Void) -> RouterDesk {
        var policy = RouterPolicy()
        change(&policy)
        return RouterDesk(policy, credit: credit)
    }

    private func answer(_ desk: RouterDesk, _ messages: [AcceptedMessage], atMost limit: Int = .max) {
        let load = desk.loads.removeLast()
        let asked = messages.filter { load.seqs.contains($0.seq) }.prefix(limit)
        desk.machine.loaded(.success(Array(asked)), lane: load.lane, seqs: load.seqs)
    }

    // MARK: How much

    @Test func `A look reads fewer messages if they are large`() {
        let desk = desk { $0.loadedBytes = 4 << 20 }
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = (1...500 as ClosedRange<UInt64>).map { F.accepted($0, to: F.tokens(0..<1000)) }
        desk.machine.accepted(messages)
        desk.run()
        desk.pass(.seconds(5))
        #expect(desk.loads.map(\.seqs.count) == [128])
        answer(desk, messages)
        desk.pass(.seconds(5))
        // An eighth of `loadedBytes`.
        #expect(desk.loads.map(\.seqs.count) == [10])
    }

    @Test func `Messages that are missing at the end of the ledger's answer are looked at next`() {
        let desk = desk { _ in }
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = (1...10 as ClosedRange<UInt64>).map {
            F.accepted($0, to: F.tokens(1..<2), expiresAt: F.second + ($0 > 3 ? 60 : 600))
        }
        desk.machine.accepted(messages)
        desk.run()
        desk.pass(.seconds(100))
        #expect(desk.loads.map(\.seqs) == [Array(1...10)])
        answer(desk, messages, atMost: 3)
        desk.run()
        #expect(desk.machine.unfinished == 10)
        #expect(desk.loads.map(\.seqs) == [Array(4...10)])
        answer(desk, messages)
        desk.run()
        #expect(desk.completed.map(\.seq) == Array(4...10))
    }

    @Test func `Messages that are missing at the end of the ledger's answer are read next`() {
        let desk = desk(credit: 1000) { _ in }
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = (1...6 as ClosedRange<UInt64>).map { F.accepted($0, to: F.tokens(Int($0)..<Int($0) + 1)) }
        desk.machine.accepted(messages)
        desk.run()
        _ = desk.machine.gateChanged(F.shop, isThere: true)
        desk.report([])
        #expect(desk.loads.map(\.seqs) == [Array(1...6)])
        // Message 2 is done by now, so it is missing in the middle.
        answer(desk, messages.filter { $0.seq != 2 }, atMost: 2)
        desk.run()
        #expect(desk.out.map(\.message.id.text) == ["m-1", "m-3"])
        #expect(desk.machine.unfinished == 5)
        #expect(desk.loads.map(\.seqs) == [Array(4...6)])
        answer(desk, [])
        desk.run()
        #expect(desk.machine.unfinished == 2)
        #expect(desk.loads.isEmpty)
    }

    // MARK: How often

    @Test func `Nothing is read while devices of expired messages are still to be recorded`() {
        let desk = desk { $0.look = 4 }
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = (1...20 as ClosedRange<UInt64>).map {
            F.accepted($0, to: F.tokens(0..<3000), expiresAt: F.second + 60)
        }
        desk.machine.accepted(messages)
        desk.run()
        desk.pass(.seconds(100))
        answer(desk, messages)
        var records = 0
        for _ in 0..<20 where desk.loads.isEmpty {
            desk.machine.tick(now: desk.now, wall: desk.wall)
            let (actions, _) = desk.machine.run()
            desk.loads += actions.loads
            if actions.loads.isEmpty { records += actions.records.count }
        }
        #expect(desk.loads.map(\.seqs) == [Array(5...8)])
        #expect(records == 12_000)
    }

    @Test func `The next look waits for its interval if only a few messages have expired`() {
        let desk = desk { $0.look = 4 }
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = (1...40 as ClosedRange<UInt64>).map {
            F.accepted($0, to: F.tokens(1..<2), expiresAt: $0 % 4 == 0 ? F.second + 60 : nil)
        }
        desk.machine.accepted(messages)
        desk.run()
        desk.pass(.seconds(100))
        answer(desk, messages)
        desk.run()
        #expect(desk.completed.map(\.seq) == [4])
        #expect(desk.loads.isEmpty)
        #expect(desk.machine.nextDeadline == desk.now + .seconds(5))
        desk.pass(.seconds(5))
        #expect(desk.loads.map(\.seqs) == [Array(5...8)])
    }

    // MARK: Lanes

    @Test func `A look at a stalled lane does not end its stall`() {
        let desk = desk {
            $0.load = 4
            $0.look = 4
        }
        let messages = (1...10 as ClosedRange<UInt64>).map { F.accepted($0, to: F.tokens(1..<2)) }
        desk.machine.accepted(messages)
        desk.run()
        desk.pass(.seconds(6))
        #expect(desk.machine.status().loaded == 4)
        #expect(desk.loads.count == 1)
        answer(desk, messages)
        desk.machine.accepted([F.accepted(11, to: F.tokens(1..<2))])
        desk.report([], credit: 0)
        #expect(desk.machine.status().loaded == 4)
        #expect(desk.loads.isEmpty)
    }

    @Test func `A lane is looked at too if other lanes leave it no room`() {
        let desk = desk { $0.loadedMessages = 4 }
        let bank = AppID("bank")!
        _ = desk.machine.gateChanged(bank, isThere: true)
        desk.machine.accepted((1...4 as ClosedRange<UInt64>).map { F.accepted($0, to: F.tokens(1..<2)) })
        let message = F.accepted(5, app: bank, to: F.tokens(1..<2), expiresAt: F.second + 60)
        desk.accept(message)
        #expect(desk.machine.status().loaded == 4)
        desk.pass(.seconds(70))
        #expect(desk.loads.map(\.seqs) == [[5]])
        answer(desk, [message])
        desk.run()
        #expect(desk.completed.map(\.seq) == [5])
    }

    @Test(arguments: [UnixSeconds(.min), -1, 0, UnixSeconds(.max)])
    func `Any due time of a scheduled message is handled`(
        time: UnixSeconds
    ) {
        let desk = RouterDesk()
        desk.machine.backlog(LedgerBacklog(nextDue: time))
        #expect(desk.machine.nextDeadline != nil)
        desk.run()
        #expect(desk.due.count == (time == UnixSeconds(.max) ? 0 : 1))
    }
}
