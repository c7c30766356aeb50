import PushModel
import PushTime
import Testing

@testable import PushLogic

/// A part of a push service that is down, such as one origin of Web Push: what waits for it must not take the room of
/// what can be sent.
@Suite struct RouterPostponedTests {
    private typealias F = RouterFixtures

    private static let down = DeliveryOutcome.retry(Refusal(status: 0, reason: nil), after: .seconds(5))
    private static let dead = Set((100..<200).map { F.token($0) })

    private let desk: RouterDesk
    private var accepted: [UInt64: AcceptedMessage] = [:]

    init() {
        var policy = RouterPolicy()
        policy.loadedMessages = 40
        policy.underWay = 40
        policy.load = 8
        policy.laneFloor = 1
        policy.waitingRetries = 4
        desk = RouterDesk(policy)
    }

    private mutating func accept(_ message: AcceptedMessage) {
        accepted[message.seq] = message
        desk.accept(message)
    }

    /// Answers for the push service and the ledger once.
    private func answer(isDown: Bool) {
        let out = desk.out
        desk.out = []
        desk.report(out.map { ($0, isDown && Self.dead.contains($0.token) ? Self.down : .sent(providerID: nil)) })
        let loads = desk.loads
        desk.loads = []
        for load in loads {
            desk.machine.loaded(.success(load.seqs.compactMap { accepted[$0] }), lane: load.lane, seqs: load.seqs)
        }
        desk.run()
    }

    @Test mutating func `Messages to devices that cannot be reached leave the memory to the others`() {
        for seq in 1...100 as ClosedRange<UInt64> {
            accept(F.accepted(seq, to: F.tokens(99 + Int(seq)..<100 + Int(seq)), needsClaim: seq % 2 == 0))
            answer(isDown: true)
        }
        #expect(desk.completed.isEmpty)
        #expect(desk.machine.unfinished == 100)
        #expect(desk.machine.status().loaded == 4)
        #expect(desk.releases.count == 48)
        accept(F.accepted(101, to: F.tokens(1..<2)))
        #expect(desk.out.map(\.token) == [F.token(1)])
        answer(isDown: true)
        #expect(desk.completed.map(\.seq) == [101])
        for _ in 0..<20 {
            desk.pass(.seconds(5))
            for _ in 0..<4 { answer(isDown: false) }
        }
        #expect(desk.completed.count == 101)
        #expect(desk.records.count { $0.outcome.final == .sent } == 101)
        #expect(desk.machine.leftovers() == [])
    }

    @Test mutating func `A postponed message is cancelled, and forgotten with its part, as one on disk`() {
        for seq in 1...20 as ClosedRange<UInt64> {
            accept(F.accepted(seq, to: F.tokens(99 + Int(seq)..<100 + Int(seq))))
            answer(isDown: true)
        }
        #expect(desk.machine.status().loaded == 4)
        desk.machine.closed(PartitionID(0)!)
        desk.run()
        #expect(desk.machine.leftovers() == [])
    }

    @Test mutating func `A broad message that cannot be sent leaves room for brief ones`() {
        accept(F.accepted(1, to: F.tokens(100..<180)))
        for _ in 0..<10 { answer(isDown: true) }
        #expect(desk.machine.status().apps.first?.retrying == 30)
        accept(F.accepted(2, to: F.tokens(1..<2)))
        #expect(desk.out.map(\.token) == [F.token(1)])
    }
}
