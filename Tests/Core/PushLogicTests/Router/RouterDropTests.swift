import PushLogic
import PushModel
import PushTime
import Testing

/// Messages that an operator drops, and those that keep waiting.
@Suite struct RouterDropTests {
    private typealias F = RouterFixtures

    private func look(_ desk: RouterDesk, _ messages: [AcceptedMessage]) {
        for _ in 0..<4 {
            while let load = desk.loads.popLast() {
                let asked = load.seqs.compactMap { seq in messages.first { $0.seq == seq } }
                desk.machine.loaded(.success(asked), lane: load.lane, seqs: load.seqs)
                desk.run()
            }
            desk.pass(.seconds(5))
        }
    }

    @Test func `A message that is accepted after a drop waits, even while older ones are still ending`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: F.tokens(1..<2)))
        let busy = Refusal(status: 503, reason: nil)
        desk.endAll(.retry(busy, after: .seconds(3600)))
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = [2, 3].map { F.accepted($0, to: F.tokens(1..<2)) }
        desk.accept(messages[0])
        #expect(desk.machine.drop(F.shop) == 2)
        desk.accept(messages[1])
        look(desk, messages)
        #expect(desk.completed.map(\.seq) == [2])
        desk.pass(.seconds(3600))
        look(desk, messages)
        #expect(desk.completed.map(\.seq) == [2, 1])
        #expect(desk.completed.allSatisfy { $0.failure == .dropped })
        // A second drop includes the messages that came since.
        #expect(desk.machine.drop(F.shop) == 1)
        desk.run()
        look(desk, messages)
        #expect(desk.completed.map(\.seq) == [2, 1, 3])
        #expect(desk.machine.unfinished == 0)
    }

    @Test func `A message whose deliveries were all sent is not reported as dropped`() {
        let desk = RouterDesk(credit: 2)
        desk.accept(F.accepted(1, to: F.tokens(1..<2)), F.accepted(2, to: F.tokens(1..<5), needsClaim: false))
        let out = desk.out
        desk.out = []
        #expect(out.count == 2)
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        #expect(desk.machine.drop(F.shop) == 2)
        desk.pass(.seconds(5))
        desk.report(out.map { ($0, .sent(providerID: nil)) }, credit: 0)
        #expect(desk.completed.map(\.seq) == [1, 2])
        #expect(desk.completed.map(\.counts.sent) == [1, 1])
        #expect(desk.completed.map(\.counts.expired) == [0, 3])
        #expect(desk.completed.map(\.failure) == [nil, .dropped])
    }

    @Test func `A drop does not include messages that are scheduled for later`() {
        let desk = RouterDesk()
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let early = F.accepted(1, to: F.tokens(1..<2), notBefore: F.second + 60)
        let late = F.accepted(2, to: F.tokens(1..<2), notBefore: F.second + 600)
        desk.accept(early, late)
        desk.pass(.seconds(60))
        desk.machine.due(.success(DueMessages(messages: [early], next: UnixSeconds(F.second + 600))))
        desk.run()
        #expect(desk.machine.drop(F.shop) == 1)
        // Without this message nothing would wait, and the drop would end.
        let other = F.accepted(3, to: F.tokens(1..<2))
        desk.accept(other)
        desk.pass(.seconds(540))
        desk.machine.due(.success(DueMessages(messages: [late], next: nil)))
        desk.run()
        look(desk, [early, late, other])
        #expect(desk.completed.map(\.seq) == [1])
        #expect(desk.machine.unfinished == 2)
    }
}
