import PushLogic
import PushModel
import PushTime
import Testing

/// The states and outcomes of single messages.
@Suite struct RouterMachineTests {
    private typealias F = RouterFixtures

    private typealias Desk = RouterDesk

    private let gone = Refusal(status: 410, reason: "Unregistered", timestamp: 77)
    private let later = Refusal(status: 503, reason: nil)

    private func kinds(_ records: [DeliveryRecord]) -> [String] {
        records.map {
            switch $0.outcome {
            case .sent: "sent"
            case .rejected: "rejected"
            case .retry: "retry"
            case .unknown(_, let isFinal): isFinal ? "unknown" : "again"
            case .expired: "expired"
            case .expiredBecause(let why): why.rawValue
            case .superseded: "superseded"
            case .suppressed(let why): why.rawValue
            }
        }
    }

    @Test func `A message to one device has its derived apns-id and completes with the answer`() {
        let desk = Desk()
        let message = F.accepted(1, to: F.tokens(7..<8))
        desk.accept(message)
        #expect(desk.claims.isEmpty)
        #expect(
            desk.out.map(\.deliveryID) == [
                DeliveryID.derived(app: F.shop, message: message.message.id, token: F.token(7))
            ])
        #expect(desk.completed.isEmpty)
        desk.endAll()
        #expect(kinds(desk.records) == ["sent"])
        #expect(desk.records[0].device == F.device(7))
        #expect(desk.completed.map(\.counts.sent) == [1])
        #expect(desk.machine.unfinished == 0)
        #expect(desk.machine.status().loaded == 0)
    }

    @Test func `Duplicates are suppressed, and deliveries that ended before a restart are skipped`() {
        let desk = Desk()
        desk.verdict = { $0 == F.device(1) ? .had : $0 == F.device(2) ? .done : .new }
        var counts = OutcomeCounts()
        counts.sent = 1
        desk.accept(F.accepted(1, to: F.tokens(0..<4), counts: counts))
        #expect(desk.out.map(\.token) == [F.token(0), F.token(3)])
        #expect(kinds(desk.records) == ["duplicate"])
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [3])
        #expect(desk.completed.map(\.counts.suppressed) == [1])
    }

    @Test func `A token that is listed twice is sent to once, also across pages`() {
        let desk = Desk()
        let named = (0..<2500).map { F.token($0 % 1200) }
        desk.accept(F.accepted(1, to: .tokens(named)))
        desk.endAll()
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [1200])
    }

    @Test func `Inactive devices are suppressed before the claim`() {
        let desk = Desk()
        desk.inactive.devices = [F.device(1), F.device(2)]
        desk.accept(F.accepted(1, to: F.tokens(0..<3)))
        #expect(desk.claims.map { $0.pages.map(\.devices) } == [[[F.device(0)]]])
        #expect(kinds(desk.records) == ["inactive", "inactive"])
        desk.accept(F.accepted(2, to: F.tokens(2..<3)))
        #expect(desk.completed.map(\.seq) == [2])
        #expect(desk.completed.map(\.counts.suppressed) == [1])
    }

    @Test func `Devices that become inactive while their page waits for credit are not sent to`() {
        let desk = Desk(credit: 100)
        desk.accept(F.accepted(1, to: F.tokens(0..<500)))
        #expect(desk.out.count == 100)
        desk.inactive.devices = Set((90..<110).map { F.device($0) } + [F.device(499)])
        desk.report([])
        #expect(desk.out.count == 489)
        #expect(!desk.out.contains { $0.token == F.token(100) || $0.token == F.token(499) })
        #expect(kinds(desk.records) == Array(repeating: "inactive", count: 11))
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [489])
        #expect(desk.completed.map(\.counts.suppressed) == [11])
        // All remaining devices of a message may be inactive.
        desk.report([], credit: 0)
        desk.accept(F.accepted(2, to: F.tokens(600..<603)))
        desk.inactive.devices = Set((600..<603).map { F.device($0) })
        desk.report([])
        #expect(desk.out.isEmpty)
        #expect(desk.completed.map(\.counts.suppressed) == [11, 3])
        #expect(desk.machine.status().loaded == 0)
    }

    @Test func `Inactive devices are not counted twice after a restart`() {
        let desk = Desk()
        desk.inactive.devices = [F.device(1), F.device(2)]
        desk.verdict = { $0 == F.device(1) ? .done : .new }
        var counts = OutcomeCounts()
        counts.suppressed = 1
        desk.accept(F.accepted(1, to: F.tokens(0..<3), counts: counts))
        #expect(kinds(desk.records) == ["inactive"])
        #expect(desk.records[0].device == F.device(2))
        desk.endAll()
        #expect(desk.completed.map(\.counts.total) == [3])
    }

    @Test func `A dynamic audience is loaded page by page, one page ahead of the one that is sent`() {
        var policy = RouterPolicy()
        policy.page = 10
        let desk = Desk(policy, credit: 5)
        desk.accept(F.accepted(1, to: .everyone))
        func page(_ range: Range<Int>, next: String?) -> AudiencePage {
            AudiencePage(
                devices: range.map { .init(id: F.device($0), token: F.token($0)) },
                next: next.map { AudienceCursor($0) })
        }
        #expect(desk.pages.map(\.after) == [nil])
        desk.machine.pageCame(page(0..<10, next: "a"), for: desk.pages[0].message)
        desk.run()
        #expect(desk.out.count == 5)
        #expect(desk.pages.map { $0.after?.text } == [nil, "a"])
        desk.machine.pageCame(page(10..<20, next: "b"), for: desk.pages[1].message)
        desk.run()
        // No page is requested while the next one is ready.
        #expect(desk.pages.count == 2)
        desk.endAll()
        desk.endAll()
        #expect(desk.pages.map { $0.after?.text } == [nil, "a", "b"])
        desk.machine.pageCame(page(20..<23, next: nil), for: desk.pages[2].message)
        desk.run()
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [23])
    }

    @Test(arguments: [1, 16, 17])
    func `Broadcasts that have begun do not keep a message to a few users from being looked up`(_ users: Int) {
        var policy = RouterPolicy()
        policy.begunAnyway = 2
        policy.begunSmall = 4
        policy.preparedFew = 1
        let desk = Desk(policy, credit: 0)
        for seq in 1...6 as ClosedRange<UInt64> { desk.accept(F.accepted(seq, to: .everyone)) }
        #expect(desk.pages.count == 2)
        desk.accept(F.accepted(7, to: .users((0..<users).map { "u\($0)" })))
        #expect(desk.pages.count == (users > 16 ? 2 : 3))
    }

    @Test func `A user with many devices takes turns with messages to one device`() {
        var policy = RouterPolicy()
        policy.laneQuantum = 10
        let desk = Desk(policy, credit: 10)
        desk.accept(F.accepted(1, to: .users(["guest"])))
        let devices = (0..<100).map { AudiencePage.Device(id: F.device($0), token: F.token($0)) }
        desk.machine.pageCame(AudiencePage(devices: devices, next: nil), for: desk.pages[0].message)
        desk.run()
        desk.accept(F.accepted(2, to: F.tokens(200..<201)))
        desk.report([], credit: 20)
        #expect(desk.out.contains { $0.message.id.text == "m-2" })
    }

    @Test func `Users with many devices do not fill memory with devices that are looked up`() {
        var policy = RouterPolicy()
        policy.begunAnyway = 2
        policy.preparedFew = 1
        let desk = Desk(policy, credit: 0)
        for seq in 1...9 as ClosedRange<UInt64> { desk.accept(F.accepted(seq, to: .users(["ada"]))) }
        #expect(desk.pages.count == 2)
    }

    @Test func `Named devices that are unknown or inactive are recorded as suppressed`() {
        let desk = Desk()
        let devices = (0..<3).map { F.device($0) }
        desk.accept(F.accepted(1, to: .devices(devices)))
        desk.machine.pageCame(
            AudiencePage(
                devices: [.init(id: devices[0], token: F.token(0))], inactive: [devices[1]], unknown: [devices[2]],
                next: nil), for: desk.pages[0].message)
        desk.run()
        #expect(kinds(desk.records) == ["inactive", "unknown_device"])
        #expect(desk.records[1].deliveryID == DeliveryID(high: 0, low: 0))
        desk.endAll()
        #expect(desk.completed.map(\.counts.suppressed) == [2])
    }

    @Test(arguments: [1, 3], [true, false])
    func `An alert is not sent to tokens that are stated to be of another kind`(count: Int, isResumed: Bool) {
        let desk = Desk()
        desk.ofOtherKinds.devices = [F.device(0)]
        var counts = OutcomeCounts()
        if isResumed { counts.rejected = 1 }
        desk.verdict = { $0 == F.device(0) && isResumed ? .done : .new }
        let needsClaim = isResumed ? true : nil as Bool?
        desk.accept(F.accepted(1, to: F.tokens(0..<count), needsClaim: needsClaim, counts: counts))
        #expect(desk.out.map(\.token) == (1..<count).map { F.token($0) })
        #expect(desk.records.map(\.outcome) == (isResumed ? [] : [.wrongKind]))
        #expect(desk.pages.isEmpty)
        desk.endAll()
        #expect(desk.completed.map(\.counts.rejected) == [1])
        #expect(desk.completed.map(\.counts.sent) == [UInt32(count - 1)])
    }

    @Test(arguments: [1, 2])
    func `The registry is asked about named tokens of a message of another kind`(count: Int) {
        let desk = Desk()
        desk.ofOtherKinds.devices = [F.device(0), F.device(1)]
        desk.accept(F.accepted(1, kind: .voip, to: F.tokens(0..<count)))
        #expect(desk.out.isEmpty && desk.pages.map(\.kind) == [.voip])
        desk.machine.pageCame(
            AudiencePage(
                devices: [.init(id: F.device(0), token: F.token(0))],
                ofOtherKinds: (1..<count).map { .init(id: F.device($0), token: F.token($0)) }, next: nil),
            for: desk.pages[0].message)
        desk.run()
        #expect(desk.out.map(\.token) == [F.token(0)])
        desk.endAll()
        #expect(desk.records.filter { $0.outcome == .wrongKind }.map(\.device) == (1..<count).map { F.device($0) })
        #expect(desk.completed.map(\.counts.sent) == [1])
        #expect(desk.completed.map(\.counts.rejected) == [UInt32(count - 1)])
        #expect(desk.candidates.isEmpty)
    }

    @Test func `Requests to a failing registry or ledger are repeated with growing delays`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: .everyone))
        desk.machine.pageFailed(for: desk.pages[0].message, error: "locked")
        desk.run()
        #expect(desk.pages.count == 1)
        #expect(desk.machine.troubles.everywhere == ["the registry does not answer: locked"])
        let deadline = desk.machine.nextDeadline
        #expect(deadline == desk.now + .seconds(1))
        desk.pass(.seconds(1))
        #expect(desk.pages.count == 2)
        desk.machine.pageFailed(for: desk.pages[1].message, error: "locked")
        desk.pass(.seconds(1))
        #expect(desk.pages.count == 2)
        desk.pass(.seconds(1))
        #expect(desk.pages.count == 3)
        desk.answersClaims = false
        desk.machine.pageCame(
            AudiencePage(devices: [.init(id: F.device(1), token: F.token(1))], next: nil),
            for: desk.pages[2].message)
        desk.run()
        desk.machine.claimed([], for: desk.claims[0].messages)
        desk.run()
        #expect(desk.claims.count == 1)
        desk.answersClaims = true
        desk.pass(.seconds(1))
        #expect(desk.claims.count == 2)
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [1])
        #expect(desk.machine.troubles == RouterTroubles())
    }

    @Test func `A delivery that is refused for now is sent again after its delay, with the same apns-id`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1)))
        let first = desk.out[0]
        desk.endAll(.retry(later, after: .seconds(10)))
        desk.pass(.seconds(9))
        #expect(desk.out.isEmpty)
        #expect(desk.machine.status().apps[0].retrying == 1)
        desk.pass(.seconds(1))
        #expect(desk.out.map(\.deliveryID) == [first.deliveryID])
        desk.endAll()
        #expect(kinds(desk.records) == ["retry", "sent"])
        #expect(desk.completed.map(\.counts.total) == [1])
    }

    @Test(arguments: [
        (UnknownPolicy.resend, Int64?.none, ["again", "sent"]), (.drop, nil, ["unknown"]), (.resend, 0, ["unknown"]),
    ]) func `An unanswered delivery is sent again only if its message allows it`(
        _ policy: UnknownPolicy, _ expiresAt: Int64?, _ expected: [String]
    ) {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1), expiresAt: expiresAt, onUnknown: policy))
        desk.endAll { .unanswered(.timeout, of: $0) }
        #expect(desk.out.isEmpty)
        desk.pass(.seconds(2))
        desk.endAll()
        #expect(kinds(desk.records) == expected)
        #expect(desk.completed.count == 1)
    }

    /// The service may have processed each attempt.
    @Test func `A delivery whose answers are lost is sent again at growing intervals, and ends as unknown`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1)))
        var waits: [Int] = []
        while desk.completed.isEmpty, waits.count < 100 {
            desk.endAll { .unanswered(.reset, of: $0) }
            var wait = 0
            while desk.out.isEmpty, desk.completed.isEmpty, wait < 1000 {
                desk.pass(.seconds(1))
                wait += 1
            }
            waits.append(wait)
        }
        #expect(kinds(desk.records) == Array(repeating: "again", count: 15) + ["unknown"])
        #expect(desk.completed.map(\.counts.unknown) == [1])
        #expect(waits.dropLast() == waits.dropLast().sorted()[...] && waits[0] >= 1 && waits[14] >= 450)
    }

    @Test func `A lost answer does not count as an answer of the service, and a refusal that has none neither`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1), expiresAt: 0))
        desk.endAll { .refused(Refusal(status: 0, reason: nil), retryAfter: .seconds(1), of: $0) }
        #expect(kinds(desk.records) == ["retry"])
        desk.pass(.seconds(1))
        desk.endAll()
        #expect(kinds(desk.records) == ["retry", "sent"])
    }

    @Test func `A message with expires_at 0 is not retried`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1), expiresAt: 0))
        desk.endAll { .refused(later, retryAfter: .seconds(1), of: $0) }
        #expect(kinds(desk.records) == ["rejected"])
    }

    @Test func `A returned delivery is sent again, and nothing is recorded`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1)))
        desk.endAll(nil)
        #expect(desk.records.isEmpty)
        desk.endAll()
        #expect(kinds(desk.records) == ["sent"])
    }

    @Test func `A dead token becomes a candidate for deactivation, with the time of the evidence`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<2)))
        let all = desk.out
        desk.report([
            (all[0], .rejected(gone, deactivates: .gone)),
            (all[1], .rejected(Refusal(status: 400, reason: "BadDeviceToken"), deactivates: .misdirected)),
        ])
        #expect(desk.candidates.map(\.evidence.milliseconds) == [77, F.second * 1000])
        #expect(desk.candidates.map(\.device) == [F.device(0), F.device(1)])
    }

    @Test func `An address that the device may have replaced is named in the candidate`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<2)))
        let all = desk.out
        desk.report([
            (all[0], .rejected(gone, deactivates: .replaceable)), (all[1], .rejected(gone, deactivates: .gone)),
        ])
        #expect(desk.candidates.map(\.refused) == [F.token(0), nil])
    }

    @Test func `A dead address of a Live Activity has ended with it`() {
        let desk = Desk()
        desk.accept(F.accepted(1, kind: .activity, to: F.tokens(0..<2)))
        desk.machine.pageCame(
            AudiencePage(devices: (0..<2).map { .init(id: F.device($0), token: F.token($0)) }, next: nil),
            for: desk.pages[0].message)
        desk.run()
        let all = desk.out
        desk.report([
            (all[0], .rejected(gone, deactivates: .gone)),
            (all[1], .rejected(Refusal(status: 400, reason: "BadDeviceToken"), deactivates: .misdirected)),
        ])
        #expect(desk.candidates.map(\.reason) == ["activity_ended", "BadDeviceToken"])
        #expect(desk.candidates.map(\.isEndOfActivity) == [true, false])
        #expect(desk.updated.isEmpty)
        #expect(desk.candidates.map(\.evidence.milliseconds) == [77, F.second * 1000])
    }

    @Test func `Only an update that the push service has taken prolongs the address of a Live Activity`() {
        let desk = Desk()
        desk.accept(F.accepted(1, kind: .activity, to: F.tokens(0..<2)))
        desk.machine.pageCame(
            AudiencePage(devices: (0..<2).map { .init(id: F.device($0), token: F.token($0)) }, next: nil),
            for: desk.pages[0].message)
        desk.run()
        desk.report([(desk.out[0], .sent(providerID: nil)), (desk.out[1], .expired)])
        #expect(desk.updated == [F.device(0)])
        desk.accept(F.accepted(2, to: F.tokens(2..<3)))
        desk.endAll()
        #expect(desk.updated == [F.device(0)] && desk.completed.count == 2)
    }

    @Test func `A report of a delivery that is not at a gateway is ignored and counted`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1)))
        let delivery = desk.out[0]
        desk.endAll()
        desk.report([(delivery, .sent(providerID: nil))])
        #expect(desk.records.count == 1)
        #expect(desk.machine.surplus == 1)
    }

    // MARK: Expiry

    @Test func `An expired message is recorded for each named device, or once for a dynamic audience`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<5000), expiresAt: F.second))
        #expect(desk.records.count == 5000)
        #expect(desk.completed.map(\.isExpired) == [true])
        #expect(desk.completed.map(\.counts.expired) == [5000])
        desk.accept(F.accepted(2, to: .everyone, expiresAt: F.second - 1))
        #expect(desk.completed.map(\.isExpired) == [true, true])
        #expect(desk.records.count == 5000)
        desk.accept(F.accepted(3, to: .devices([F.device(1), F.device(1)]), expiresAt: F.second))
        #expect(desk.completed.last?.counts.expired == 1)
        #expect(desk.out.isEmpty && desk.pages.isEmpty && desk.claims.isEmpty)
    }

    @Test func `The remaining devices of a message expire when its time is over`() {
        var policy = RouterPolicy()
        policy.page = 4
        let desk = Desk(policy, credit: 3)
        desk.accept(F.accepted(1, to: F.tokens(0..<20), expiresAt: F.second + 60))
        #expect(desk.out.count == 3)
        desk.pass(.seconds(60))
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [3])
        #expect(desk.completed.map(\.counts.expired) == [17])
        #expect(desk.completed.map(\.isExpired) == [false])
    }

    /// The search for the remaining devices ends the message, which must not end twice.
    @Test func `A message expires while its remaining devices are inactive`() {
        var policy = RouterPolicy()
        policy.page = 4
        let desk = Desk(policy, credit: 0)
        desk.inactive.devices = Set((8..<10).map { F.device($0) })
        desk.accept(F.accepted(1, to: F.tokens(0..<10), expiresAt: F.second + 60, needsClaim: false))
        for _ in 0..<20 { desk.pass(.seconds(5)) }
        #expect(desk.completed.map(\.counts.expired) == [8])
        #expect(desk.completed.map(\.counts.suppressed) == [2])
        #expect(desk.machine.unfinished == 0)
    }

    @Test func `Messages that expire while nothing can be sent are recorded`() {
        let desk = Desk(credit: 0)
        desk.accept(
            F.accepted(1, to: F.tokens(0..<1), expiresAt: F.second + 60),
            F.accepted(2, to: F.tokens(0..<3), expiresAt: F.second + 60), F.accepted(3, to: F.tokens(0..<1)))
        for _ in 0..<20 { desk.pass(.seconds(5)) }
        #expect(desk.completed.map(\.seq).sorted() == [1, 2])
        #expect(desk.machine.unfinished == 1)
    }

    @Test func `A delivery that expires before its retry is recorded as expired on time`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1), expiresAt: F.second + 5))
        desk.endAll(.retry(later, after: .seconds(900)))
        desk.pass(.seconds(5))
        #expect(kinds(desk.records) == ["retry", "expired"])
        #expect(desk.completed.count == 1)
    }

    @Test func `A message without expires_at expires after seven days`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1), at: F.second - 7 * 86400))
        #expect(desk.completed.map(\.isExpired) == [true])
        desk.accept(F.accepted(2, to: F.tokens(0..<1), at: F.second - 7 * 86400 + 1))
        #expect(desk.out.count == 1)
    }

    // MARK: Schedule, health, gateways

    @Test func `A scheduled message is read when it is due`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1), notBefore: F.second + 30))
        #expect(desk.machine.unfinished == 0)
        let deadline = desk.machine.nextDeadline
        #expect(deadline == desk.now + .seconds(30))
        desk.pass(.seconds(29))
        #expect(desk.due.isEmpty)
        desk.pass(.seconds(1))
        #expect(desk.due.map(\.time.value) == [F.second + 30])
        // A message that is accepted during the request is not forgotten.
        desk.accept(F.accepted(2, to: F.tokens(1..<2), notBefore: F.second + 40, at: desk.wall.seconds))
        desk.machine.due(
            .success(
                DueMessages(messages: [F.accepted(1, to: F.tokens(0..<1), notBefore: F.second + 30)], next: nil)))
        desk.run()
        #expect(desk.out.count == 1)
        #expect(desk.machine.status().nextDue?.value == F.second + 40)
    }

    @Test func `While the ledger cannot write, nothing is sent, and outcomes are kept`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1)))
        desk.machine.healthChanged(LedgerFault("disk full"))
        desk.accept(
            F.accepted(2, to: F.tokens(0..<1)), F.accepted(3, to: .everyone), F.accepted(4, to: F.tokens(0..<9)))
        #expect(desk.out.count == 1)
        #expect(desk.pages.isEmpty && desk.claims.isEmpty)
        desk.endAll()
        #expect(desk.completed.map(\.seq) == [1])
        desk.machine.healthChanged(nil)
        desk.run()
        #expect(desk.out.count == 10)
        #expect(desk.pages.count == 1)
    }

    @Test func `The credit of a gateway is honored, and that of its predecessor is ignored`() {
        let desk = Desk(credit: 2)
        desk.accept(F.accepted(1, to: F.tokens(0..<10)))
        #expect(desk.out.count == 2)
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        desk.run()
        _ = desk.machine.gateChanged(F.shop, isThere: true)
        desk.run()
        // The old gateway returns its deliveries and still reports credit.
        desk.machine.reported(
            GatewayReport(
                app: F.shop, deliveries: desk.out.map { DeliveryReport(of: $0, nil, latency: .zero) }, credit: 50,
                taken: 2))
        desk.out = []
        desk.run()
        #expect(desk.out.isEmpty)
        desk.machine.reported(GatewayReport(app: F.shop, credit: 4, taken: 0))
        desk.run()
        #expect(desk.out.count == 4)
    }

    @Test func `A gateway that is being replaced does not change the credit of the current one`() {
        final class Gate {}
        let (old, new) = (Gate(), Gate())
        let desk = Desk(credit: 0)
        _ = desk.machine.gateChanged(F.shop, isThere: true, source: ObjectIdentifier(old))
        desk.accept(F.accepted(1, to: F.tokens(0..<5)))
        desk.machine.reported(GatewayReport(app: F.shop, source: ObjectIdentifier(old), credit: 1, taken: 0))
        desk.run()
        let last = desk.out
        #expect(last.count == 1)
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        // The next gateway reports before `gateChanged` announces it.
        desk.machine.reported(GatewayReport(app: F.shop, source: ObjectIdentifier(new), credit: 2, taken: 0))
        _ = desk.machine.gateChanged(F.shop, isThere: true, source: ObjectIdentifier(new))
        desk.run()
        #expect(desk.out.count == 3)
        // The old gateway reports one more outcome and no credit. The new one has no reason to report again.
        desk.machine.reported(
            GatewayReport(app: F.shop, source: ObjectIdentifier(new), credit: 2, taken: 2))
        desk.run()
        #expect(desk.out.count == 5)
        desk.machine.reported(
            GatewayReport(app: F.shop, source: ObjectIdentifier(new), credit: 2, taken: 4))
        desk.machine.reported(
            GatewayReport(
                app: F.shop, source: ObjectIdentifier(old),
                deliveries: [DeliveryReport(of: last[0], .sent(providerID: nil), latency: .zero)], credit: 0, taken: 1))
        desk.accept(F.accepted(2, to: F.tokens(0..<2)))
        #expect(desk.out.count == 7)
    }

    @Test func `Expired deliveries are not recorded while the ledger cannot write, or after the stop`() {
        let desk = Desk(credit: 0)
        desk.accept(F.accepted(1, to: F.tokens(0..<3), expiresAt: F.second + 60))
        desk.machine.healthChanged(LedgerFault("disk full"))
        for _ in 0..<20 { desk.pass(.seconds(5)) }
        #expect(desk.records.isEmpty && desk.machine.nextDeadline == nil)
        desk.machine.healthChanged(nil)
        for _ in 0..<20 { desk.pass(.seconds(5)) }
        #expect(kinds(desk.records) == ["expired", "expired", "expired"])
        desk.accept(F.accepted(2, to: F.tokens(0..<3), expiresAt: F.second + 400))
        desk.machine.stop()
        for _ in 0..<100 { desk.pass(.seconds(5)) }
        #expect(desk.records.count == 3)
    }

    @Test func `The number of deliveries under way stays within its limit`() {
        var policy = RouterPolicy()
        policy.underWay = 10
        let desk = Desk(policy)
        desk.accept(F.accepted(1, to: F.tokens(0..<30)))
        #expect(desk.out.count == 10)
        desk.endAll(.retry(later, after: .seconds(5)))
        #expect(desk.out.isEmpty)
        desk.pass(.seconds(5))
        #expect(desk.out.count == 10)
        desk.endAll()
        #expect(desk.out.count == 10)
    }

    @Test func `After the stop nothing is sent, and outcomes are still counted`() {
        let desk = Desk()
        desk.accept(F.accepted(1, to: F.tokens(0..<1)))
        desk.machine.stop()
        desk.accept(F.accepted(2, to: F.tokens(0..<1)))
        #expect(desk.out.count == 1)
        desk.endAll()
        #expect(desk.completed.map(\.seq) == [1])
        #expect(desk.out.isEmpty)
        let out = desk.machine.out
        #expect(out == 0)
    }
}
