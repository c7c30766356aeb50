import PushLogic
import PushModel
import PushTime
import TestTraits
import Testing

/// Failing requests: which messages they delay, for how long, and what is reported.
@Suite struct RouterTroubleTests {
    private typealias F = RouterFixtures

    private func onePage(_ device: Int) -> AudiencePage {
        AudiencePage(devices: [.init(id: F.device(device), token: F.token(device))], next: nil)
    }

    @Test func `An audience that the registry can never resolve ends its message and delays no other`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: .everyone), F.accepted(2, to: .everyone))
        desk.machine.pageRefused(for: desk.pages[0].message, reason: "it nests too deep")
        desk.machine.pageCame(onePage(1), for: desk.pages[1].message)
        desk.run()
        #expect(desk.completed.map(\.seq) == [1])
        #expect(desk.completed[0].failure == .audience("it nests too deep"))
        #expect(desk.out.count == 1)
        #expect(desk.machine.troubles == RouterTroubles())
        desk.endAll()
        #expect(desk.completed.map(\.seq) == [1, 2])
        #expect(desk.completed[1].failure == nil)
        #expect(desk.machine.status().loaded == 0)
    }

    @Test func `Devices that were found before a refusal are sent to`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: .everyone))
        desk.machine.pageCame(
            AudiencePage(devices: [.init(id: F.device(1), token: F.token(1))], next: AudienceCursor("1")),
            for: desk.pages[0].message)
        desk.run()
        desk.machine.pageRefused(for: desk.pages[1].message, reason: "no such place")
        desk.run()
        #expect(desk.completed.isEmpty)
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [1])
        #expect(desk.completed[0].failure?.detail == "no such place")
    }

    @Test func `A failing page request delays only its own message`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: .everyone))
        // The first two failures may be the registry's. After that it has answered other requests in between twice.
        for number in 2...20 as ClosedRange<UInt64> {
            let bad = desk.pages.last { $0.message == desk.pages[0].message }!
            let asked = desk.pages.count
            if number <= 4 { desk.machine.pageFailed(for: bad.message, error: "row 7 is damaged") }
            desk.accept(F.accepted(number, to: .everyone))
            let other = desk.pages[asked...].first { $0.message != bad.message }
            // The request of the other message is sent without delay.
            #expect(other != nil)
            if let other { desk.machine.pageCame(onePage(Int(number)), for: other.message) }
            desk.run()
            #expect(desk.out.count == Int(number) - 1)
        }
        #expect(desk.machine.troubles.everywhere.isEmpty)
        #expect(desk.machine.troubles.ofMessages.count == 1)
        #expect(desk.machine.troubles.ofMessages[0].contains("m-1") == true)
        // The failing request waits for its own delay and is not repeated at each answer to others.
        #expect(desk.pages.count { $0.message == desk.pages[0].message } == 3)
        desk.pass(.seconds(60))
        #expect(desk.pages.count { $0.message == desk.pages[0].message } == 4)
    }

    /// Fails the page request of message 1 until the failure counts as its own, and answers other requests in between.
    private func failAlone(_ desk: RouterDesk) {
        desk.accept(F.accepted(1, to: .everyone))
        let bad = desk.pages[0].message
        for number in 2...4 as ClosedRange<UInt64> {
            desk.machine.pageFailed(for: bad, error: "row 7 is damaged")
            desk.accept(F.accepted(number, to: .everyone))
            if let other = desk.pages.last(where: { $0.message != bad }) {
                desk.machine.pageCame(onePage(Int(number)), for: other.message)
            }
            desk.run()
        }
    }

    @Test func `A message with a failing request is reported until the request is answered`() {
        let desk = RouterDesk()
        failAlone(desk)
        let named = desk.machine.troubles
        #expect(named.ofMessages.count == 1 && named.everywhere.isEmpty)
        let asked = desk.pages.count
        desk.pass(.seconds(60))
        #expect(desk.pages.count == asked + 1)
        #expect(desk.machine.troubles == named)
        desk.machine.pageCame(onePage(1), for: desk.pages[asked].message)
        desk.run()
        #expect(desk.machine.troubles == RouterTroubles())
    }

    @Test func `The number of reported messages is limited, and an answered one makes room`() {
        let desk = RouterDesk()
        for number in 1...10 as ClosedRange<UInt64> { desk.accept(F.accepted(number, to: .everyone)) }
        let bad = desk.pages.map(\.message)
        for round in 0..<3 {
            for message in bad { desk.machine.pageFailed(for: message, error: "row 7 is damaged") }
            desk.accept(F.accepted(UInt64(11 + round), to: .everyone))
            if let other = desk.pages.last(where: { !bad.contains($0.message) }) {
                desk.machine.pageCame(onePage(11 + round), for: other.message)
            }
            desk.pass(.seconds(60))
        }
        func names() -> [String] {
            desk.machine.troubles.ofMessages.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
        }
        #expect(names() == (1...8).map { "m-\($0)" })
        desk.machine.pageCame(onePage(3), for: bad[2])
        desk.run()
        #expect(names().count == 7 && !names().contains("m-3"))
        desk.machine.pageFailed(for: bad[9], error: "row 7 is damaged")
        #expect(names().last == "m-10")
        // If the registry itself fails, the failure no longer counts as the message's own.
        desk.machine.pageFailed(for: bad[0], error: "locked")
        desk.pass(.seconds(60))
        desk.machine.pageFailed(for: bad[0], error: "locked")
        #expect(!names().contains("m-1") && desk.machine.troubles.everywhere.count == 1)
    }

    @Test(.waits) func `The cost of troubles does not depend on the number of messages`() {
        var policy = RouterPolicy()
        policy.begunAnyway = 20_000
        let desk = RouterDesk(policy)
        for number in 1...5000 as ClosedRange<UInt64> { desk.machine.accepted([F.accepted(number, to: .everyone)]) }
        desk.run()
        for page in desk.pages { desk.machine.pageFailed(for: page.message, error: "locked") }
        #expect(desk.pages.count == 5000)
        for _ in 0..<100_000 where desk.machine.troubles.everywhere.count != 1 { Issue.record("none reported") }
    }

    @Test func `One answer of the registry ends the delay of all requests`() {
        let desk = RouterDesk()
        desk.accept(
            F.accepted(1, to: .everyone), F.accepted(2, to: .everyone), F.accepted(3, to: .everyone))
        for _ in 0..<5 {
            let asked = desk.pages.suffix(3)
            for page in asked { desk.machine.pageFailed(for: page.message, error: "locked") }
            desk.run()
            #expect(desk.machine.troubles.everywhere == ["the registry does not answer: locked"])
            desk.pass(.seconds(60))
        }
        #expect(desk.pages.count == 18)
        desk.machine.pageFailed(for: desk.pages[15].message, error: "locked")
        desk.machine.pageFailed(for: desk.pages[16].message, error: "locked")
        desk.run()
        #expect(desk.pages.count == 18)
        desk.machine.pageCame(onePage(3), for: desk.pages[17].message)
        desk.run()
        #expect(desk.pages.count == 20)
        #expect(desk.machine.troubles == RouterTroubles())
    }

    @Test func `A dynamic audience that the registry cannot resolve expires on time`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: .everyone, expiresAt: F.second + 90))
        for _ in 0..<12 where desk.completed.isEmpty {
            if let page = desk.pages.popLast() { desk.machine.pageFailed(for: page.message, error: "locked") }
            desk.pass(.seconds(30))
        }
        #expect(desk.completed.map(\.isExpired) == [true])
        #expect(desk.machine.status().loaded == 0)
    }

    @Test func `A failure of the registry is no longer reported when all waiting messages have expired`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: .everyone, expiresAt: F.second + 90))
        desk.machine.pageFailed(for: desk.pages[0].message, error: "locked")
        desk.run()
        #expect(desk.machine.troubles.everywhere == ["the registry does not answer: locked"])
        desk.pass(.seconds(120))
        #expect(desk.completed.map(\.isExpired) == [true])
        #expect(desk.machine.troubles == RouterTroubles())
    }

    @Test func `A damaged message ends with its known id, and the others are read at once`() {
        let desk = RouterDesk()
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        desk.accept(F.accepted(1, to: F.tokens(1..<2)), F.accepted(2, to: F.tokens(2..<3)))
        _ = desk.machine.gateChanged(F.shop, isThere: true)
        desk.report([])
        let load = desk.loads[0]
        let fault = LedgerFault(
            "message 1 is damaged", damaged: DamagedMessage(seq: 1, app: F.shop, id: MessageID("m-1")))
        desk.machine.loaded(.failure(fault), lane: load.lane, seqs: load.seqs)
        desk.run()
        #expect(desk.completed.map(\.message.id.text) == ["m-1"])
        #expect(desk.completed[0].failure?.reason == "damaged")
        #expect(desk.loads.last?.seqs == [2])
        #expect(desk.machine.troubles.damaged == 1)
        #expect(desk.machine.troubles.everywhere.isEmpty)
        #expect(desk.machine.unfinished == 1)
    }

    @Test func `A damaged scheduled message ends too`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: F.tokens(1..<2), notBefore: F.second + 5))
        desk.pass(.seconds(6))
        #expect(desk.due.count == 1)
        let fault = LedgerFault("message 1 is damaged", damaged: DamagedMessage(seq: 1, app: F.shop, id: nil))
        desk.machine.due(.failure(fault))
        desk.run()
        #expect(desk.completed.map(\.seq) == [1])
        #expect(desk.due.count == 2)
        #expect(desk.machine.unfinished == 0)
    }
}
