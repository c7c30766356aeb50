import PushLogic
import PushModel
import PushTime
import Testing

/// Messages that go out at a local time: each turn is a message of its own.
@Suite struct RouterLocalTimeTests {
    private typealias F = RouterFixtures
    private typealias Desk = RouterDesk

    private static func accepted(
        _ seq: UInt64 = 1, to audience: Audience = .everyone, at time: Int64, after: Int64? = nil, isLast: Bool = false,
        fallback: Int64 = F.second, dropsLate: Bool = false, expiresAt: Int64? = nil
    ) -> AcceptedMessage {
        let turn = LocalTurn(
            LocalTime(seconds: F.second), zone: "Test/Home", fallback: UnixSeconds(fallback),
            after: after.map { UnixSeconds($0) }, isLast: isLast, dropsLate: dropsLate)
        let message = Message(
            id: MessageID("m-1")!, app: F.shop, expiry: Expiry(expiresAt: expiresAt), payload: [1],
            notBefore: UnixSeconds(time), turn: turn)
        return AcceptedMessage(
            seq: seq, acceptedAt: WallTime(seconds: F.second),
            fingerprint: F.identities.message(of: F.shop, id: message.id), message: message, audience: audience,
            needsClaim: true, isScheduled: time > F.second)
    }

    private static let zones = TimeZones([:], source: "test")

    private static func seen(_ second: Int64?, in zone: String? = nil) -> Sighting {
        Sighting(seen: second.map { WallTime(seconds: $0) }, address: nil, timeZone: zone)
    }

    private static func share(_ accepted: AcceptedMessage, _ sighting: Sighting?) -> BegunTurn.Share? {
        BegunTurn(of: accepted)?.share(of: sighting, in: zones)
    }

    @Test func `A turn is for the devices whose time it is, and the last one for all that are left`() {
        let now = F.second
        // Without a zone, a device has the time of the default: that of the acceptance.
        #expect(Self.share(Self.accepted(at: now), nil) == .own)
        #expect(Self.share(Self.accepted(at: now, after: now - 60), Self.seen(nil, in: "Mars/Olympus")) == .own)
        #expect(Self.share(Self.accepted(at: now - 60), nil) == BegunTurn.Share.none)
        #expect(Self.share(Self.accepted(at: now - 60, isLast: true), nil) == .own)
        #expect(Self.share(Self.accepted(at: now + 60, after: now), nil) == BegunTurn.Share.none)
        #expect(BegunTurn(of: F.accepted(1, to: .everyone)) == nil)
    }

    @Test func `A recipient without a zone is late, and dropped, when the clock of the default zone is past`() {
        let now = F.second
        for sighting in [nil, Self.seen(now + 7200), Self.seen(now + 7200, in: "Mars/Olympus")] {
            // The default zone is late: its turn ends as late, and no other turn makes up for it.
            let late = Self.accepted(at: now - 60, after: now - 120, fallback: now - 60, dropsLate: true)
            #expect(BegunTurn(of: late)?.isDropped == true)
            for isLast in [false, true] {
                let next = Self.accepted(
                    at: now + 3600, after: now - 60, isLast: isLast, fallback: now - 60, dropsLate: true)
                #expect(BegunTurn(of: next)?.isDropped == false)
                #expect(Self.share(next, sighting) == BegunTurn.Share.none)
            }
            // The default zone is ahead: earlier turns that are late leave the recipient out, and its own one comes.
            let own = Self.accepted(at: now + 3600, after: now - 60, fallback: now + 3600, dropsLate: true)
            #expect(Self.share(own, sighting) == .own && BegunTurn(of: own)?.isDropped == false)
        }
    }

    @Test func `Who was seen since the turn before may have come from another zone`() {
        let now = F.second
        let turn = Self.accepted(at: now + 7200, after: now + 3600)
        #expect(Self.share(turn, Self.seen(now + 3600)) == .earlier)
        #expect(Self.share(turn, Self.seen(now + 3599)) == BegunTurn.Share.none)
        // The first turn after the acceptance looks as far back as that.
        let first = Self.accepted(at: now + 60, after: now - 3600, fallback: now - 7200)
        #expect(Self.share(first, Self.seen(now - 1)) == BegunTurn.Share.none)
        #expect(Self.share(first, Self.seen(now)) == .earlier)
        // What is dropped where it is late is not made up for later.
        let dropping = Self.accepted(at: now + 7200, after: now + 3600, dropsLate: true)
        #expect(Self.share(dropping, Self.seen(now + 3600)) == BegunTurn.Share.none)
    }

    @Test func `A turn that is past at acceptance is sent at once, or ends as late`() {
        let desk = Desk()
        desk.accept(Self.accepted(at: F.second - 60))
        #expect(desk.pages.count == 1 && desk.pages[0].turn != nil)
        let other = Desk()
        other.accept(Self.accepted(at: F.second - 60, dropsLate: true))
        #expect(other.pages.isEmpty && other.records.map(\.outcome) == [.expiredBecause(.late)])
        #expect(other.completed.map(\.counts.expired) == [1] && other.machine.unfinished == 0)
        let ahead = Desk()
        ahead.accept(Self.accepted(at: F.second + 60, dropsLate: true))
        #expect(ahead.records.isEmpty && ahead.machine.nextDue?.value == F.second + 60)
    }

    @Test func `The registry is asked about named devices, and nothing is said of those that have the message`() {
        let desk = Desk()
        desk.verdict = { $0 == F.device(2) ? .new : .had }
        desk.accept(Self.accepted(to: F.tokens(0..<3), at: F.second))
        #expect(desk.pages.count == 1 && desk.out.isEmpty)
        let sightings = [Self.seen(nil), Self.seen(nil), Self.seen(nil)]
        let page = AudiencePage(
            devices: (0..<3).map { .init(id: F.device($0), token: F.token($0)) }, unknown: [F.device(9)], next: nil)
        let part = desk.pages[0].turn?.part(of: page, sightings, in: Self.zones)
        #expect(part?.devices.count == 3 && part?.unknown == [])
        let again = BegunTurn(of: Self.accepted(at: F.second + 7200, after: F.second + 3600, isLast: true))?
            .part(of: page, [nil, Self.seen(F.second + 3600), nil], in: Self.zones)
        #expect(again?.devices.map(\.mayHave) == [true, true, true] && again?.unknown == [F.device(9)])
        let mixed = AudiencePage(
            devices: [page.devices[0], page.devices[1].again, page.devices[2]], next: nil)
        desk.machine.pageCame(mixed, for: desk.pages[0].message)
        desk.run()
        desk.endAll()
        #expect(desk.records.filter { $0.outcome == .suppressed(.duplicate) }.map(\.device) == [F.device(0)])
        #expect(desk.completed.map(\.counts.sent) == [1] && desk.completed.map(\.counts.suppressed) == [1])
    }

    @Test func `If the zones are gone after a restart, the last turn is for all devices without the message`() throws {
        let now = F.second
        let page = AudiencePage(
            devices: (0..<3).map { .init(id: F.device($0), token: F.token($0)) }, next: nil)
        let sightings = [
            Self.seen(now - 60, in: "Test/Home"), Self.seen(now - 60, in: "Test/Away"), Self.seen(nil, in: "Test/Far"),
        ]
        let middle = BegunTurn(of: Self.accepted(at: now + 3600, after: now + 60))?
            .part(of: page, sightings, in: Self.zones)
        #expect(middle?.devices.isEmpty == true)
        let turn = BegunTurn(of: Self.accepted(at: now + 7200, after: now + 3600, isLast: true))
        let last = try #require(turn?.part(of: page, sightings, in: Self.zones))
        #expect(last.devices.map(\.mayHave) == [true, true, true])
        // The first device got the message in its own turn, before the restart.
        let desk = Desk()
        desk.verdict = { $0 == F.device(0) ? .had : .new }
        desk.accept(Self.accepted(at: now, isLast: true))
        desk.machine.pageCame(last, for: desk.pages[0].message)
        desk.run()
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [2] && desk.completed.map(\.counts.suppressed) == [0])
        // What is dropped where it is late, or was late everywhere, is not made up for.
        let dropping = Self.accepted(at: now + 7200, after: now + 3600, isLast: true, dropsLate: true)
        #expect(Self.share(dropping, sightings[1]) == BegunTurn.Share.none)
        let late = Self.accepted(at: now - 60, after: now - 120, isLast: true, fallback: now - 180)
        #expect(Self.share(late, sightings[1]) == BegunTurn.Share.none)
    }

    @Test func `A turn that expires is one message without deliveries, whatever it names`() {
        let desk = Desk(credit: 0)
        desk.accept(Self.accepted(to: F.tokens(0..<3), at: F.second, expiresAt: F.second + 10))
        desk.pass(.seconds(11))
        if let page = desk.pages.first {
            desk.machine.pageCame(AudiencePage(devices: [], next: nil), for: page.message)
            desk.run()
        }
        #expect(desk.records.isEmpty && desk.completed.count == 1)
    }
}
