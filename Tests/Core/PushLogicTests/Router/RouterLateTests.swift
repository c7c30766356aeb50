import PushLogic
import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

/// The expiry of messages that wait too long, in memory or on disk.
@Suite struct RouterLateTests {
    private typealias F = RouterFixtures

    private func answer(_ desk: RouterDesk, _ messages: [AcceptedMessage]) {
        while let load = desk.loads.popLast() {
            let asked = messages.filter { load.seqs.contains($0.seq) }
            desk.machine.loaded(.success(asked), lane: load.lane, seqs: load.seqs)
            desk.run()
        }
    }

    // MARK: Without expires_at

    @Test func `The lifetime of a scheduled message counts from its not_before`() {
        let desk = RouterDesk(credit: 0)
        let (day, begin): (Int64, Int64) = (86_400, F.second + 30 * 86_400)
        let message = F.accepted(1, to: F.tokens(1..<2), notBefore: begin)
        desk.accept(message)
        desk.pass(.seconds(30 * day))
        #expect(desk.due.count == 1)
        desk.machine.due(.success(DueMessages(messages: [message], next: nil)))
        desk.run()
        #expect(desk.completed.isEmpty)
        desk.pass(.seconds(7 * day - 1))
        #expect(desk.completed.isEmpty)
        desk.report([])
        #expect(desk.out.count == 1)
    }

    @Test func `A scheduled message expires when its lifetime is over`() {
        let desk = RouterDesk(credit: 0)
        let message = F.accepted(1, to: F.tokens(1..<2), notBefore: F.second + 3600)
        desk.accept(message)
        desk.pass(.seconds(3600))
        desk.machine.due(.success(DueMessages(messages: [message], next: nil)))
        desk.run()
        desk.pass(.seconds(7 * 86_400))
        #expect(desk.completed.map(\.isExpired) == [true])
    }

    // MARK: With expires_at 0

    @Test func `A message with expires_at 0 expires within seconds if no gateway takes it`() {
        let desk = RouterDesk(credit: 0)
        desk.accept(F.accepted(1, to: F.tokens(1..<2), expiresAt: 0))
        desk.pass(.seconds(5))
        #expect(desk.completed.isEmpty)
        desk.pass(.seconds(5))
        desk.pass(.seconds(5))
        #expect(desk.completed.map(\.isExpired) == [true])
        #expect(desk.completed.map(\.counts.expired) == [1])
        desk.report([])
        #expect(desk.out.isEmpty)
    }

    @Test func `A delivery contains the time from which no attempt may begin`() {
        let desk = RouterDesk()
        desk.accept(
            F.accepted(1, to: F.tokens(1..<2), expiresAt: 0), F.accepted(2, to: F.tokens(1..<2)),
            F.accepted(3, to: F.tokens(1..<2), expiresAt: F.second + 77))
        let week: Int64 = 7 * 86_400
        #expect(desk.out.map(\.deadline?.value) == [F.second + 10, F.second + week, F.second + 77])
        for delivery in desk.out {
            let end = WallTime(delivery.deadline!)
            #expect(!delivery.isExpired(at: end - 1) && delivery.isExpired(at: end))
        }
    }

    @Test func `A returned delivery with expires_at 0 is sent again only until its latest start`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: F.tokens(1..<2), expiresAt: 0))
        desk.pass(.seconds(9))
        desk.endAll(nil)
        #expect(desk.out.count == 1)
        let delivery = desk.out[0]
        desk.out = []
        desk.pass(.seconds(1))
        desk.report([(delivery, nil)])
        #expect(desk.out.isEmpty)
        #expect(desk.completed.map(\.counts.expired) == [1])
    }

    @Test func `A message with expires_at 0 to many devices continues while its pages are sent`() {
        let desk = RouterDesk(credit: 100)
        desk.accept(F.accepted(1, to: F.tokens(0..<500), expiresAt: 0))
        for _ in 0..<4 {
            #expect(desk.out.count == 100)
            desk.pass(.seconds(9))
            let out = desk.out
            desk.out = []
            desk.report(out.map { ($0, .sent(providerID: nil)) }, credit: 100)
        }
        #expect(desk.out.count == 100)
        desk.pass(.seconds(11))
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [500])
    }

    @Test func `The rest of a message with expires_at 0 expires when no page is sent any more`() {
        let desk = RouterDesk(credit: 100)
        desk.accept(F.accepted(1, to: F.tokens(0..<500), expiresAt: 0))
        let out = desk.out
        desk.report(out.map { ($0, .sent(providerID: nil)) }, credit: 0)
        for _ in 0..<4 { desk.pass(.seconds(5)) }
        #expect(desk.completed.map(\.counts.sent) == [100])
        #expect(desk.completed.map(\.counts.expired) == [400])
    }

    @Test func `A message with expires_at 0 is not sent hours later after a restart`() {
        let desk = RouterDesk()
        desk.accept(F.accepted(1, to: F.tokens(1..<2), expiresAt: 0, at: F.second - 3600))
        #expect(desk.out.isEmpty)
        #expect(desk.completed.map(\.isExpired) == [true])
    }

    // MARK: Without a gateway

    @Test func `Messages of an app without a gateway expire`() {
        let desk = RouterDesk()
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        let messages = (1...3000 as ClosedRange<UInt64>).map {
            F.accepted($0, to: F.tokens(1..<2), expiresAt: $0 % 3 == 0 ? nil : F.second + 60)
        }
        desk.machine.accepted(messages)
        desk.run()
        desk.pass(.seconds(50))
        answer(desk, messages)
        #expect(desk.completed.isEmpty)
        // Each look reads a part of the messages.
        for _ in 0..<12 {
            desk.pass(.seconds(10))
            answer(desk, messages)
        }
        #expect(desk.completed.count == 2000 && desk.completed.allSatisfy(\.isExpired))
        #expect(desk.records.count == 2000)
        #expect(desk.machine.unfinished == 1000)
        #expect(desk.machine.status().loaded == 0)
        desk.pass(.seconds(7 * 86_400))
        for _ in 0..<12 {
            answer(desk, messages)
            desk.pass(.seconds(10))
        }
        #expect(desk.machine.unfinished == 0)
    }

    @Test func `A partly completed message is claimed, and its rest expires`() {
        let desk = RouterDesk()
        desk.verdict = { $0 == F.device(1) ? .done : .new }
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        var counts = OutcomeCounts()
        counts.sent = 1
        let message = F.accepted(1, to: F.tokens(1..<4), expiresAt: F.second + 60, counts: counts)
        desk.accept(message)
        for _ in 0..<20 {
            desk.pass(.seconds(10))
            answer(desk, [message])
        }
        #expect(desk.completed.map(\.counts.sent) == [1])
        #expect(desk.completed.map(\.counts.expired) == [2])
    }

    @Test func `Waiting messages can be dropped only for an app without a gateway`() {
        let desk = RouterDesk()
        #expect(desk.machine.drop(F.shop) == nil)
        desk.accept(F.accepted(1, to: F.tokens(1..<2)))
        let out = desk.out
        desk.out = []
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        // The gateway stops and returns what it has not sent.
        desk.report(out.map { ($0, nil) }, credit: 0)
        let messages = (2...3000 as ClosedRange<UInt64>).map { F.accepted($0, to: F.tokens(1..<2)) }
        desk.machine.accepted(messages)
        desk.run()
        #expect(desk.machine.drop(AppID("other")!) == nil)
        #expect(desk.machine.drop(F.shop) == 3000)
        desk.run()
        for _ in 0..<12 {
            answer(desk, messages)
            desk.pass(.seconds(5))
        }
        #expect(desk.completed.count == 3000)
        #expect(desk.completed.allSatisfy { $0.failure == .dropped })
        #expect(desk.machine.unfinished == 0)
        // Messages that are accepted later wait as usual.
        desk.accept(F.accepted(4000, to: F.tokens(1..<2)))
        for _ in 0..<3 {
            desk.pass(.seconds(5))
            answer(desk, [F.accepted(4000, to: F.tokens(1..<2))])
        }
        #expect(desk.machine.unfinished == 1)
    }

    // MARK: Device ids chosen by producers

    @Test(.waits) func `Device ids that are made to collide are distinguished at no extra cost`() {
        let desk = RouterDesk()
        // Their low bits would place all of them in one slot, and each differs from another one in a single bit.
        let devices = (0..<100_000).map { DeviceID(high: UInt64($0 / 2), low: UInt64($0 % 2) << 63) }
        desk.accept(F.accepted(1, to: .devices(devices + devices.prefix(1000)), expiresAt: F.second - 1))
        #expect(desk.completed.map(\.counts.expired) == [100_000])
        #expect(Set(desk.records.map(\.device)).count == 100_000)
    }
}
