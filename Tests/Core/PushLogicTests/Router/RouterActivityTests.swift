import PushModel
import PushTime
import TestTraits
import Testing

@testable import PushLogic

/// Messages to Live Activities: the newest state of an activity is sent once, and never an older one after it.
@Suite struct RouterActivityTests {
    private typealias F = RouterFixtures

    static func page(_ devices: [Int] = [1], inactive: [Int] = []) -> AudiencePage {
        AudiencePage(
            devices: devices.map { AudiencePage.Device(id: F.device($0), token: F.token($0)) },
            inactive: inactive.map { F.device($0) }, next: nil)
    }

    static func update(
        _ seq: UInt64, to activity: String = "order", _ event: ActivityPart.Event = .update,
        priority: PushPriority = .five, expiresAt: Int64? = nil, at: Int64 = F.second
    ) -> AcceptedMessage {
        let message = Message(
            id: MessageID("m-\(seq)")!, app: F.shop, kind: .activity, priority: priority,
            expiry: Expiry(expiresAt: expiresAt),
            payload: Array(#"{"aps":{"timestamp":1700000000,"event":"update","content-state":{}}}"#.utf8),
            activity: ActivityPart(event, isStamped: true))
        return AcceptedMessage(
            seq: seq, acceptedAt: WallTime(seconds: at), fingerprint: F.identities.message(of: F.shop, id: message.id),
            message: message, audience: .activities([activity]), needsClaim: true)
    }

    static func superseded(by seq: UInt64) -> DeliveryOutcome {
        .superseded(by: MessageID("m-\(seq)")!, seq: seq)
    }

    private func answerPages(_ desk: RouterDesk, _ page: AudiencePage = RouterActivityTests.page()) {
        let asked = desk.pages
        desk.pages = []
        for request in asked { desk.machine.pageCame(page, for: request.message) }
        desk.run()
    }

    @Test func `An update is sent to the addresses of its activity, with the time of its acceptance`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk, Self.page([1, 2]))
        #expect(desk.out.map(\.token) == [F.token(1), F.token(2)])
        let text = desk.out.first.map { String(decoding: $0.message.payload, as: UTF8.self) }
        #expect(text == #"{"aps":{"timestamp":\#(F.second),"event":"update","content-state":{}}}"#)
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [2])
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `Of updates that wait for credit, only the newest is sent`() {
        let desk = RouterDesk(credit: 0)
        for seq in UInt64(1)...5 { desk.accept(Self.update(seq)) }
        answerPages(desk)
        desk.report([], credit: 10)
        while !desk.pages.isEmpty { answerPages(desk) }
        #expect(desk.out.map(\.message.id.text) == ["m-5"])
        desk.endAll()
        // Each names the newest message of that moment.
        #expect(desk.records.map(\.outcome) == [3, 4, 5, 5].map(Self.superseded) + [.sent(providerID: nil)])
        #expect(desk.completed.map(\.counts.superseded) == [1, 1, 1, 1, 0])
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `No update overtakes one that is in flight`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk)
        #expect(desk.out.count == 1)
        desk.accept(Self.update(2, priority: .ten))
        answerPages(desk)
        #expect(desk.out.map(\.message.id.text) == ["m-1"])
        desk.endAll()
        answerPages(desk)
        #expect(desk.out.map(\.message.id.text) == ["m-2"])
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [1, 1])
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `An update that waits for another attempt is superseded at once`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk)
        desk.endAll(.retry(Refusal(status: 503, reason: nil), after: .seconds(600)))
        desk.accept(Self.update(2))
        answerPages(desk)
        #expect(desk.out.map(\.message.id.text) == ["m-2"])
        #expect(desk.records.last?.outcome == Self.superseded(by: 2))
        desk.endAll()
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `An update that the gateway gives back, or refuses for now, is superseded by a newer one`() {
        for outcome in [nil, DeliveryOutcome.retry(Refusal(status: 503, reason: nil), after: .seconds(1))] {
            let desk = RouterDesk()
            desk.accept(Self.update(1))
            answerPages(desk)
            desk.accept(Self.update(2))
            #expect(desk.out.map(\.message.isWithdrawn) == [true])
            desk.endAll(outcome)
            #expect(desk.records.last?.outcome == Self.superseded(by: 2))
            answerPages(desk)
            #expect(desk.out.map(\.message.id.text) == ["m-2"])
            desk.endAll()
            #expect(desk.machine.leftovers() == [])
        }
    }

    @Test func `An update whose answer was lost is not sent again if there is a newer one`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk)
        desk.accept(Self.update(2))
        desk.endAll(.unknown(.connectionLost, isFinal: false))
        #expect(desk.records.last?.outcome == .unknown(.connectionLost, isFinal: true))
        answerPages(desk)
        #expect(desk.out.map(\.message.id.text) == ["m-2"])
        desk.endAll()
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `Activities do not wait for each other`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1, to: "one"), Self.update(2, to: "two"), Self.update(3, to: "one"))
        answerPages(desk)
        #expect(Set(desk.out.map(\.message.id.text)) == ["m-2", "m-3"])
        desk.endAll()
        #expect(desk.machine.leftovers() == [])
    }

    // MARK: Addresses that are not there yet

    @Test func `An update waits for the address of its activity`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk, Self.page([]))
        #expect(desk.completed.isEmpty)
        desk.machine.registered(.of(F.shop, name: "another"))
        desk.run()
        #expect(desk.loads.isEmpty)
        desk.machine.registered(.of(F.shop, name: "order"))
        desk.run()
        #expect(desk.loads.map(\.seqs) == [[1]])
        desk.machine.loaded(.success([Self.update(1)]), lane: desk.loads[0].lane, seqs: [1])
        desk.run()
        answerPages(desk)
        #expect(desk.out.map(\.message.id.text) == ["m-1"])
        desk.endAll()
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `An address that is registered while the registry is asked is not overlooked`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        desk.machine.registered(.of(F.shop, name: "order"))
        answerPages(desk, Self.page([]))
        answerPages(desk)
        #expect(desk.out.count == 1)
    }

    @Test func `Where any address may be registered by now, all updates without one are looked up again`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1, to: "one"), Self.update(2, to: "two"))
        answerPages(desk, Self.page([]))
        desk.accept(Self.update(3, to: "three"))
        desk.machine.registered(.ofUnknown)
        answerPages(desk, Self.page([]))
        desk.run()
        #expect(desk.loads.map(\.seqs) == [[1, 2]])
        desk.machine.loaded(
            .success([Self.update(1, to: "one"), Self.update(2, to: "two")]), lane: desk.loads[0].lane, seqs: [1, 2])
        desk.run()
        answerPages(desk)
        #expect(Set(desk.out.map(\.message.id.text)) == ["m-1", "m-2", "m-3"])
        desk.endAll()
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `An update without an address ends after ten minutes, or at its own time`() {
        for (end, expiresAt) in [(600, nil), (30, F.second + 30)] as [(Int64, Int64?)] {
            let desk = RouterDesk()
            let update = Self.update(1, expiresAt: expiresAt)
            desk.accept(update)
            answerPages(desk, Self.page([]))
            desk.pass(.seconds(end - 2))
            #expect(desk.loads.isEmpty)
            #expect(desk.machine.nextDeadline.map { $0 <= desk.now + .seconds(2) } == true)
            desk.pass(.seconds(2))
            #expect(desk.loads.count == 1)
            guard desk.loads.count == 1 else { continue }
            desk.machine.loaded(.success([update]), lane: desk.loads[0].lane, seqs: [1])
            desk.run()
            answerPages(desk, Self.page([]))
            #expect(desk.completed.map(\.counts.expired) == [1])
            #expect(desk.records.map(\.outcome) == [.expiredBecause(.noAddress)])
            #expect(desk.records.map(\.device) == [.none])
            #expect(desk.machine.leftovers() == [])
        }
    }

    @Test func `An update of an activity that has ended ends at once`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk, Self.page([], inactive: [1]))
        #expect(desk.records.map(\.outcome) == [.expiredBecause(.noAddress)])
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `A newer update takes the place of one that waits for an address`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk, Self.page([]))
        desk.accept(Self.update(2))
        #expect(desk.loads.map(\.seqs) == [[1, 2]])
        desk.machine.loaded(.success([Self.update(1), Self.update(2)]), lane: desk.loads[0].lane, seqs: [1, 2])
        desk.run()
        #expect(desk.records.map(\.outcome) == [Self.superseded(by: 2)])
        answerPages(desk)
        #expect(desk.out.map(\.message.id.text) == ["m-2"])
        desk.endAll()
        #expect(desk.machine.leftovers() == [])
    }

    // MARK: Ends

    @Test func `The addresses of an activity end when the push service has taken its end`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk)
        desk.endAll()
        #expect(desk.candidates.isEmpty)
        desk.accept(Self.update(2, .end))
        answerPages(desk)
        desk.endAll(.retry(Refusal(status: 503, reason: nil), after: .seconds(1)))
        #expect(desk.candidates.isEmpty)
        desk.pass(.seconds(2))
        desk.endAll()
        #expect(desk.candidates.map(\.device) == [F.device(1)])
        #expect(desk.candidates.map(\.reason) == ["activity_ended"])
    }

    @Test func `An update that comes after an end is not sent`() {
        let desk = RouterDesk(credit: 0)
        desk.accept(Self.update(1), Self.update(2, .end), Self.update(3))
        answerPages(desk)
        desk.report([], credit: 10)
        while !desk.pages.isEmpty { answerPages(desk) }
        #expect(desk.out.map(\.message.id.text) == ["m-2"])
        desk.endAll()
        #expect(
            desk.records.map(\.outcome).filter { $0 != .sent(providerID: nil) } == [
                Self.superseded(by: 2), .expiredBecause(.ended),
            ])
        #expect(desk.machine.leftovers() == [])
    }

    // MARK: Restarts, clocks and cancellations

    @Test func `After a restart only the newest of the waiting messages is sent`() {
        let desk = RouterDesk()
        let updates = (UInt64(1)...5).map { Self.update($0) }
        desk.machine.backlog(LedgerBacklog(lanes: [(Lane(activitiesOf: F.shop), [1, 2, 3, 4, 5])]))
        desk.run()
        var rounds = 0
        while !desk.loads.isEmpty, rounds < 10 {
            rounds += 1
            let loads = desk.loads
            desk.loads = []
            #expect(rounds > 1 || desk.out.isEmpty)
            for load in loads {
                desk.machine.loaded(
                    .success(updates.filter { load.seqs.contains($0.seq) }), lane: load.lane, seqs: load.seqs)
            }
            desk.run()
        }
        answerPages(desk)
        #expect(desk.out.map(\.message.id.text) == ["m-5"])
        #expect(desk.completed.map(\.counts.superseded) == [1, 1, 1, 1])
        desk.endAll()
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `A clock that is set back makes no newer state look older`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1, at: F.second + 100))
        answerPages(desk)
        desk.endAll { message in
            #expect(ActivityTimestamp.has(UnixSeconds(F.second + 100), message.payload))
            return .sent(providerID: nil)
        }
        desk.accept(Self.update(2, at: F.second))
        answerPages(desk)
        #expect(desk.out.allSatisfy { ActivityTimestamp.has(UnixSeconds(F.second + 100), $0.message.payload) })
        desk.endAll()
        desk.accept(Self.update(3, at: F.second + 200))
        answerPages(desk)
        #expect(desk.out.allSatisfy { ActivityTimestamp.has(UnixSeconds(F.second + 200), $0.message.payload) })
    }

    @Test func `A cancelled update makes way for the one that waits behind it`() {
        let desk = RouterDesk()
        desk.accept(Self.update(1))
        answerPages(desk)
        desk.accept(Self.update(2), Self.update(3))
        desk.machine.cancelled([
            CancelOrder(
                number: 1,
                parts: [CancelOrder.Part(seq: 3, lane: Lane(activitiesOf: F.shop), named: nil, begin: nil)])
        ])
        desk.run()
        desk.endAll()
        #expect(desk.completed.count == 3)
        #expect(desk.out.isEmpty)
        #expect(desk.machine.leftovers() == [])
    }

    @Test func `An activity counts no more when its newest update was cancelled and the one before it has ended`() {
        let desk = RouterDesk()
        // Another activity of the app waits, so that they are not forgotten together.
        desk.accept(Self.update(1, to: "other"))
        answerPages(desk, Self.page([]))
        desk.accept(Self.update(2))
        desk.accept(Self.update(3))
        desk.machine.cancelled([
            CancelOrder(
                number: 1,
                parts: [CancelOrder.Part(seq: 3, lane: Lane(activitiesOf: F.shop), named: nil, begin: nil)])
        ])
        desk.run()
        #expect(desk.waits.state.waiting == 2)
        answerPages(desk, Self.page([]))
        #expect(desk.completed.map(\.seq).sorted() == [2, 3])
        #expect(desk.waits.state.waiting == 1 && desk.waits.state.load(of: F.shop).count == 1)
    }
}
