import APNs
import PushModel
import PushTime
import PushWire
import Testing

/// Envelopes that go out at a local time.
@Suite struct EnvelopeLocalTimeTests {
    private static let now = EnvelopeExamples.now.value
    /// 2025-12-29T09:20:00, the time of the examples on a clock that shows UTC.
    private static let local = "2025-12-29T09:20"

    /// Returns a zone whose clock is ahead by so many seconds.
    private static func zone(_ offset: Int32) -> ZoneRules? {
        let big = (0..<4).reversed().map { UInt8(truncatingIfNeeded: offset >> (8 * $0)) }
        let head = Array("TZif".utf8) + [UInt8](repeating: 0, count: 16)
        let counts: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4]
        return ZoneFile.rules(head + counts + big + [0, 0] + Array("ABC\0".utf8))
    }

    private static func table(_ zones: TimeZones? = nil, timeZone: String? = nil, fault: String? = nil) -> AppTable {
        let known = ["Test/East": 3600, "Test/West": -7200, "Test/Home": 0, "Test/Also": 3600] as [String: Int32]
        let facts = ["ios", "mac"].map { name in
            let id = AppID(name)!
            return AppFacts(
                id: id, codec: APNsCodec(app: id, topic: "com.example.\(name)", usesToken: true), service: "apns",
                timeZone: timeZone)
        }
        return AppTable(
            facts, families: [Family(AppID("shop")!, members: facts.map(\.id))], familyFault: fault,
            zones: zones ?? TimeZones(known.compactMapValues { zone($0) }, source: "test"))
    }

    private static func read(
        _ members: String, to: String = #"{"users":["ada"]}"#, app: String = "ios", by apps: AppTable = table()
    ) -> Result<PushRequest, EnvelopeFault> {
        EnvelopeExamples.read(
            Array(#"{"id":"m-1","app":"\#(app)","to":\#(to),"alert":"Hello",\#(members)}"#.utf8), frame: nil,
            by: EnvelopeReader(apps: apps))
    }

    private static func all(_ result: Result<PushRequest, EnvelopeFault>) throws -> [PushRequest] {
        let request = try result.get()
        return [request] + (request.fellows?.others ?? [])
    }

    @Test func `A message becomes one for each time at which clocks show the local one`() throws {
        let all = try Self.all(Self.read(#""at_local":"\#(Self.local)","time_zone":"Test/Home""#))
        #expect(all.map(\.message.notBefore?.value) == [Self.now - 3600, Self.now, Self.now + 7200])
        let turns = all.compactMap(\.message.turn)
        #expect(turns.map(\.after?.value) == [nil, Self.now - 3600, Self.now])
        #expect(turns.map(\.isLast) == [false, false, true])
        #expect(turns.allSatisfy { $0.fallback.value == Self.now && $0.zone == "Test/Home" && !$0.dropsLate })
        #expect(all.map(\.isJoined) == [false, true, true] && all.allSatisfy { $0.message.id.text == "m-1" })
        #expect(all[0].fellows?.family == nil && all[0].fellows?.turnCount == 3)
        #expect(all.allSatisfy { $0.message.payload == Array(#"{"aps":{"alert":"Hello"}}"#.utf8) })
        let late = try Self.all(
            Self.read(#""at_local":"\#(Self.local):00","late":"drop""#, by: Self.table(timeZone: "Test/West")))
        #expect(late.compactMap(\.message.turn).allSatisfy { $0.dropsLate && $0.zone == nil })
        #expect(late.compactMap(\.message.turn).map(\.fallback.value) == [7200, 7200, 7200].map { Self.now + $0 })
    }

    @Test func `The turns of a message have the same content and other audiences`() throws {
        let identities = try #require(Identities(secret: (0..<32).map { UInt8($0) }))
        func hashes(_ members: String) throws -> (content: Set<UInt64>, audiences: Set<UInt64>) {
            let all = try Self.all(Self.read(members, to: #"{"tokens":["\#(EnvelopeExamples.token)"]}"#))
            let message = identities.message(of: all[0].message.app, id: all[0].message.id)
            return (
                Set(all.map { identities.content(of: $0.message) }),
                Set(all.map { identities.audience(of: $0.audience, for: $0.message, as: message) })
            )
        }
        let one = try hashes(#""at_local":"\#(Self.local)","time_zone":"Test/Home""#)
        #expect(one.content.count == 1 && one.audiences.count == 3)
        let same = try hashes(#""time_zone":"Test/Home","at_local":"\#(Self.local):00""#)
        #expect(same.content == one.content && same.audiences == one.audiences)
        for other in [
            #""at_local":"2025-12-29T09:21","time_zone":"Test/Home""#,
            #""at_local":"\#(Self.local)","time_zone":"Test/West""#,
            #""at_local":"\#(Self.local)","time_zone":"Test/Home","late":"drop""#,
        ] {
            #expect(try hashes(other).content != one.content, "\(other)")
        }
    }

    @Test func `A family has all turns of each member, and a member its own time zone`() throws {
        let all = try Self.all(Self.read(#""at_local":"\#(Self.local)","time_zone":"Test/Home""#, app: "shop"))
        #expect(all.map(\.message.app.name) == ["ios", "ios", "ios", "mac", "mac", "mac"])
        #expect(all[0].fellows?.family?.name.name == "shop" && all[0].fellows?.turnCount == 3)
        let own = try Self.all(
            Self.read(#""at_local":"\#(Self.local)""#, app: "shop", by: Self.table(timeZone: "Test/East")))
        #expect(own.compactMap(\.message.turn?.fallback.value) == [Int64](repeating: Self.now - 3600, count: 6))
    }

    @Test(
        arguments: [
            (#""at_local":7,"time_zone":"Test/Home""#, "at_local is"),
            (#""at_local":"tomorrow","time_zone":"Test/Home""#, "at_local is"),
            (#""at_local":"2025-12-29T09:20Z","time_zone":"Test/Home""#, "at_local is"),
            (#""at_local":"2026-12-31T09:20","time_zone":"Test/Home""#, "at_local is more than"),
            (#""at_local":"1999-12-31T23:59","time_zone":"Test/Home""#, "at_local is before the"),
            (#""at_local":"\#(Self.local)""#, "at_local needs time_zone"),
            (
                #""at_local":"\#(Self.local)","time_zone":"Test/Eas""#,
                "time_zone: there is no time zone \"Test/Eas\"; did"
            ),
            (#""at_local":"\#(Self.local)","time_zone":"""#, "time_zone: there is no time zone"),
            (#""at_local":"\#(Self.local)","time_zone":7"#, "time_zone is"),
            (#""at_local":"\#(Self.local)","time_zone":"Test/Home","not_before":1"#, "at_local and not_before"),
            (#""at_local":"\#(Self.local)","time_zone":"Test/Home","late":"never""#, "late does not allow"),
            (
                #""at_local":"\#(Self.local)","time_zone":"Test/Home","expires_at":\#(Self.now - 3600)"#,
                "at_local is not before"
            ),
            (#""time_zone":"Test/Home""#, "time_zone belongs to at_local"),
            (#""late":"drop""#, "late belongs to at_local"),
        ] as [(String, String)])
    func `What cannot be is refused by its name`(members: String, detail: String) {
        guard case .failure(let fault) = Self.read(members) else {
            Issue.record("accepted: \(members)")
            return
        }
        #expect(fault.rejection.reason == .badField && fault.rejection.detail.hasPrefix(detail), "\(fault.rejection)")
    }

    @Test func `Without a database, and with too many times or bytes, a local time is refused`() throws {
        func detail(_ result: Result<PushRequest, EnvelopeFault>) -> String? {
            if case .failure(let fault) = result { fault.rejection.detail } else { nil }
        }
        let members = #""at_local":"\#(Self.local)","time_zone":"Test/Home""#
        #expect(detail(Self.read(members, by: Self.table(TimeZones.none)))?.contains("tzdata") == true)
        #expect(detail(Self.read(members, by: Self.table(fault: "too old"))) == "at_local: too old")
        #expect(detail(Self.read(members, by: Self.table(timeZone: "Test/Gone"))) == nil)
        #expect(
            detail(Self.read(#""at_local":"\#(Self.local)""#, by: Self.table(timeZone: "Test/Gone")))?
                .hasPrefix("at_local: time_zone of the app ios: there is no time zone") == true)
        var many: [String: ZoneRules] = ["Test/Home": try #require(Self.zone(0))]
        for minute in 1...70 { many["Test/\(minute)"] = Self.zone(Int32(60 * minute)) }
        #expect(detail(Self.read(members, by: Self.table(TimeZones(many, source: "test"))))?.contains("64") == true)
        let users = (0..<99_000).map { #""\#(String(repeating: "u", count: 60))\#($0)""# }.joined(separator: ",")
        #expect(
            detail(Self.read(members, to: #"{"users":[\#(users)]}"#))?.hasSuffix("send to fewer users at once") == true)
    }
}
