import PushLogic
import PushModel
import PushTime
import Testing

/// Messages whose words depend on the device.
@Suite struct RouterWordingTests {
    private typealias F = RouterFixtures
    private typealias Desk = RouterDesk

    private static let names = ["en", "de", "fr"]

    private static func wording(values: UserValues? = nil) throws -> Wording {
        let place = values == nil ? [] : [Wording.Place(offset: 2, value: 0)]
        return try #require(
            Wording(
                names.map { Wording.Form(locale: LocaleTag($0), payload: Array($0.utf8), places: place) },
                values: values))
    }

    private static func accepted(
        _ wording: Wording, to audience: Audience, needsClaim: Bool? = nil, counts: OutcomeCounts = OutcomeCounts()
    ) -> AcceptedMessage {
        let message = Message(id: MessageID("m-1")!, app: F.shop, payload: wording.forms[0].payload, wording: wording)
        return AcceptedMessage(
            seq: 1, acceptedAt: WallTime(seconds: F.second),
            fingerprint: F.identities.message(of: F.shop, id: message.id),
            message: message, audience: audience, needsClaim: needsClaim ?? (audience.named != 1), counts: counts)
    }

    private static func page(_ range: Range<Int>, next: String? = nil, _ variant: (Int) -> UInt32) -> AudiencePage {
        AudiencePage(
            devices: range.map { .init(id: F.device($0), token: F.token($0), variant: variant($0)) },
            next: next.map { AudienceCursor($0) })
    }

    private static func texts(_ deliveries: [Delivery]) -> [String] {
        deliveries.map { String(decoding: $0.message.payload, as: UTF8.self) }
    }

    @Test func `Each device gets the form of its locale, over several pages and in small portions`() throws {
        var policy = RouterPolicy()
        policy.page = 10
        let desk = Desk(policy, credit: 3)
        let wording = try Self.wording()
        desk.accept(Self.accepted(wording, to: .everyone))
        #expect(desk.pages.map { $0.wording === wording } == [true])
        desk.machine.pageCame(Self.page(0..<10, next: "a") { UInt32($0 % 3) }, for: desk.pages[0].message)
        desk.run()
        desk.machine.pageCame(Self.page(10..<14) { _ in 1 }, for: desk.pages[1].message)
        desk.run()
        var sent: [Delivery] = []
        for _ in 0..<10 where desk.completed.isEmpty {
            sent += desk.out
            desk.endAll()
        }
        #expect(Self.texts(sent) == (0..<14).map { $0 < 10 ? Self.names[$0 % 3] : "de" })
        // All devices of a locale share one form, so that a writer prepares it once.
        #expect(Set(sent.map { ObjectIdentifier($0.message) }).count == 3)
        #expect(Set(sent.map(\.message.id)).count == 1)
        #expect(desk.completed.map(\.counts.sent) == [14])
        #expect(Set(desk.records.map { ObjectIdentifier($0.message) }).count == 1)
    }

    @Test(arguments: [1, 2])
    func `The registry is asked about named tokens only if the message has forms`(count: Int) throws {
        let plain = Desk()
        plain.accept(F.accepted(1, to: F.tokens(0..<count)))
        #expect(plain.pages.isEmpty && plain.out.count == count)
        let desk = Desk()
        desk.accept(Self.accepted(try Self.wording(), to: F.tokens(0..<count)))
        #expect(desk.out.isEmpty && desk.pages.map(\.audience) == [F.tokens(0..<count)])
        desk.machine.pageCame(Self.page(0..<count) { UInt32($0) }, for: desk.pages[0].message)
        desk.run()
        #expect(Self.texts(desk.out) == Array(Self.names.prefix(count)))
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [UInt32(count)])
    }

    @Test func `A delivery that is sent again has the form of the first attempt`() throws {
        let desk = Desk()
        desk.accept(Self.accepted(try Self.wording(), to: .everyone))
        desk.machine.pageCame(Self.page(0..<3) { UInt32($0) }, for: desk.pages[0].message)
        desk.run()
        desk.endAll(.retry(Refusal(status: 503, reason: nil), after: .seconds(10)))
        desk.pass(.seconds(10))
        #expect(Self.texts(desk.out).sorted() == Self.names.sorted())
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [3])
    }

    @Test func `After a restart only the devices that are left get their form`() throws {
        let desk = Desk()
        desk.verdict = { $0 == F.device(1) ? .done : .new }
        var counts = OutcomeCounts()
        counts.sent = 1
        desk.accept(Self.accepted(try Self.wording(), to: .everyone, counts: counts))
        desk.machine.pageCame(Self.page(0..<3) { UInt32($0) }, for: desk.pages[0].message)
        desk.run()
        #expect(Self.texts(desk.out) == ["en", "fr"])
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [3])
    }

    @Test func `A cancellation withdraws the deliveries of all forms`() throws {
        let desk = Desk()
        desk.answersRecalls = true
        desk.returnable = 2
        let message = Self.accepted(try Self.wording(), to: .everyone)
        desk.accept(message)
        desk.machine.pageCame(Self.page(0..<3) { UInt32($0) }, for: desk.pages[0].message)
        desk.run()
        let part = CancelOrder.Part(
            seq: 1, lane: Lane(of: message.message, to: message.audience), named: nil, begin: message.begin)
        desk.machine.cancelled([CancelOrder(number: 1, parts: [part])])
        desk.run()
        #expect(desk.out.count == 1 && desk.out.allSatisfy(\.message.isWithdrawn))
        #expect(desk.cancelEnds.count == 1)
    }

    @Test func `Each user gets the own values, and devices of one user share a form`() throws {
        let users = ["ada", "bob"]
        var values = UserValues(of: users, count: 1)
        for value in ["1", "2"] { _ = values.add(Array(value.utf8)) }
        let wording = try Self.wording(values: values)
        let desk = Desk()
        desk.accept(Self.accepted(wording, to: .users(users)))
        let variants = try [("ada", "en"), ("ada", "en"), ("ada", "fr"), ("bob", "de"), ("bob", "en")].map {
            try #require(wording.variant(locale: $0.1, user: $0.0))
        }
        desk.machine.pageCame(Self.page(0..<5) { variants[$0] }, for: desk.pages[0].message)
        desk.run()
        #expect(Self.texts(desk.out) == ["en1", "en1", "fr1", "de2", "en2"])
        #expect(desk.out[0].message === desk.out[1].message)
        desk.endAll()
        #expect(desk.completed.map(\.counts.sent) == [5])
    }
}
