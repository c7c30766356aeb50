import APNs
import PushModel
import PushWire
import Testing

/// Envelopes to a family of apps.
@Suite struct EnvelopeFamilyTests {
    private static let apps = AppTable(
        [
            AppFacts(id: AppID("ios")!, codec: codec("ios"), service: "apns"),
            AppFacts(id: AppID("mac")!, codec: codec("mac"), service: "apns"),
            AppFacts(id: AppID("plain")!, codec: PlainCodec(), service: "plain"),
        ],
        families: [
            Family(AppID("shop")!, members: ["ios", "mac", "plain"].map { AppID($0)! }),
            Family(AppID("apple")!, members: [AppID("mac")!, AppID("ios")!]),
            Family(AppID("broken")!, members: [AppID("ios")!, AppID("gone")!]),
        ])

    private static func codec(_ name: String) -> APNsCodec {
        APNsCodec(app: AppID(name)!, topic: "com.example.\(name)", usesToken: true)
    }

    private static func read(
        _ members: String, to: String = #"{"users":["ada"]}"#, app: String = "shop", frame: [UInt8]? = nil,
        apps: AppTable = apps
    ) -> Result<PushRequest, EnvelopeFault> {
        EnvelopeExamples.read(
            Array(#"{"id":"m-1","app":"\#(app)","to":\#(to),\#(members)}"#.utf8), frame: frame,
            by: EnvelopeReader(apps: apps))
    }

    private static func all(_ request: PushRequest) -> [PushRequest] { [request] + (request.fellows?.others ?? []) }

    private static func rejection(_ result: Result<PushRequest, EnvelopeFault>) -> Rejection? {
        if case .failure(let fault) = result { fault.rejection } else { nil }
    }

    @Test func `Each member gets its own payload under the same id`() throws {
        let request = try Self.read(#""alert":"Hello""#).get()
        let all = Self.all(request)
        #expect(all.map(\.message.app.name) == ["ios", "mac", "plain"])
        #expect(all.allSatisfy { $0.message.id.text == "m-1" && $0.audience == .users(["ada"]) })
        #expect(all.map(\.isJoined) == [false, true, true])
        #expect(request.fellows?.family?.name.name == "shop")
        #expect(String(decoding: all[0].message.payload, as: UTF8.self) == #"{"aps":{"alert":"Hello"}}"#)
        #expect(String(decoding: all[2].message.payload, as: UTF8.self) == #"{"text":"Hello"}"#)
        #expect(all.allSatisfy { $0.message.preferred.isEmpty })
    }

    @Test func `An app is no family, and a family without one of its members is unknown`() throws {
        #expect(try Self.read(#""alert":"Hello""#, app: "ios").get().fellows == nil)
        #expect(Self.rejection(Self.read(#""alert":"Hello""#, app: "broken"))?.reason == .unknownApp)
        let fault = Self.rejection(Self.read(#""alert":"Hello","prefer":["ios"]"#, app: "ios"))
        #expect(fault?.reason == .badField && fault?.detail.hasPrefix("prefer") == true)
        #expect(Self.rejection(Self.read(#""payloads":{"apns":{"aps":{}}}"#, app: "ios"))?.reason == .badField)
    }

    @Test func `A payload by service replaces the plain fields`() throws {
        let own = #"{"aps":{"alert":"Own"}}"#
        let all = Self.all(try Self.read(#""alert":"Hello","payloads":{"apns":\#(own)}"#).get())
        #expect(all[0].message.payload == Array(own.utf8) && all[1].message.payload == Array(own.utf8))
        #expect(String(decoding: all[2].message.payload, as: UTF8.self) == #"{"text":"Hello"}"#)
        let missing = Self.rejection(Self.read(#""payloads":{"apns":\#(own)}"#))
        #expect(missing?.reason == .missingField && missing?.detail.hasPrefix("plain: ") == true)
        #expect(try Self.read(#""payloads":{"apns":\#(own)}"#, app: "apple").get().fellows != nil)
    }

    @Test func `Those that come first are those named, and then the others in the order of the family`() throws {
        let all = Self.all(try Self.read(#""alert":"Hello","prefer":["plain"]"#).get())
        #expect(all.map { $0.message.preferred.map(\.app.name) } == [["plain"], ["plain", "ios"], []])
        let type = #""alert":"Hello","prefer":["mac","ios"]"#
        let two = Self.all(try Self.read(type, app: "apple").get())
        #expect(two.map { $0.message.preferred } == [[], [PreferredApp(AppID("mac")!, kind: .alert)]])
    }

    @Test(
        arguments: [
            (#""payload":{"aps":{}}"#, #"{"users":["ada"]}"#, "bad_field", "payload"),
            (#""live_activity":{}"#, #"{"users":["ada"]}"#, "bad_field", "live_activity"),
            (#""alert":"a""#, #"{"tokens":["00"]}"#, "bad_audience", "tokens"),
            (#""alert":"a""#, #"{"activities":["o"]}"#, "bad_audience", "activities"),
            (#""alert":"a","badge":1"#, #"{"users":["ada"]}"#, "bad_payload", "plain: badge"),
            (#""alert":"a","payloads":{"sms":{}}"#, #"{"users":["ada"]}"#, "bad_field", "payloads"),
            (#""alert":"a","payloads":{"":{}}"#, #"{"users":["ada"]}"#, "bad_field", "payloads"),
            (#""alert":"a","payloads":[]"#, #"{"users":["ada"]}"#, "bad_field", "payloads"),
            (#""alert":"a","payloads":{"plain":{},"plain":{}}"#, #"{"users":["ada"]}"#, "bad_field", "payloads"),
            (#""alert":"a","payloads":{"plain":7}"#, #"{"users":["ada"]}"#, "bad_payload", "plain: payloads/plain"),
            (#""alert":"a","prefer":[]"#, #"{"users":["ada"]}"#, "bad_field", "prefer is empty"),
            (#""alert":"a","prefer":"ios""#, #"{"users":["ada"]}"#, "bad_field", "prefer is"),
            (#""alert":"a","prefer":[1]"#, #"{"users":["ada"]}"#, "bad_field", "prefer has"),
            (#""alert":"a","prefer":["web"]"#, #"{"users":["ada"]}"#, "bad_field", "prefer: \"web\" is not a member"),
            (#""alert":"a","prefer":["ios","ios"]"#, #"{"users":["ada"]}"#, "bad_field", "prefer names ios twice"),
            (
                #""alert":"a","prefer":["ios"]"#, #"{"devices":["00000000000000000000000000000000"]}"#, "bad_field",
                "prefer: each of the devices"
            ),
        ])
    func `What a family cannot do is refused by name`(
        members: String, to: String, reason: String, start: String
    ) throws {
        let rejection = try #require(Self.rejection(Self.read(members, to: to)))
        #expect(rejection.reason.rawValue == reason, "\(rejection)")
        #expect(rejection.detail.hasPrefix(start), "\(rejection)")
    }

    @Test func `A payload in a frame of its own is refused, and so is everything while the store cannot`() {
        let frame = Self.rejection(Self.read(#""traceparent":"t""#, frame: Array("{}".utf8)))
        #expect(frame?.reason == .badField && frame?.detail.hasPrefix("frame 3") == true)
        let family = Family(AppID("shop")!, members: [AppID("ios")!])
        let table = AppTable(
            [AppFacts(id: AppID("ios")!, codec: Self.codec("ios"))], families: [family], familyFault: "not here")
        let fault = Self.rejection(Self.read(#""alert":"a""#, apps: table))
        #expect(fault?.reason == .badField && fault?.detail == "app: shop: not here")
    }

    @Test func `A fault names the family, for which rights are checked before it is told`() {
        guard case .failure(let fault) = Self.read(#""alert":"a","badge":1"#) else {
            Issue.record("a badge was accepted")
            return
        }
        #expect(fault.family?.name.name == "shop" && fault.app == nil && fault.id == "m-1")
    }

    @Test func `All requests together have a largest size`() throws {
        let users = (0..<90_000).map { "\"user-\($0)-\(String(repeating: "x", count: 60))\"" }.joined(separator: ",")
        let fault = Self.rejection(Self.read(#""alert":"a""#, to: #"{"users":[\#(users)]}"#))
        #expect(fault?.reason == .tooMany && fault?.detail.contains("send to fewer") == true, "\(fault as Any)")
        #expect(try Self.read(#""alert":"a""#, to: #"{"users":[\#(users)]}"#, app: "ios").get().fellows == nil)
    }

    @Test func `Words and values are rendered for each member`() throws {
        let words = #""alert":{"locales":{"en":"Hi {n}","de":"Hallo {n}"},"default":"en"},"values":{"ada":{"n":"1"}}"#
        let all = Self.all(try Self.read(words, app: "apple").get())
        #expect(all.allSatisfy { $0.message.wording?.forms.count == 2 && $0.audience == .users(["ada"]) })
    }
}

/// A push service that shows texts only.
private struct PlainCodec: ServiceCodec {
    let types = MessageTypes([.alert])
    let plainRules = PlainRules("Plain", shows: [.alert])

    func address(_ text: ByteView) throws(AddressFault) -> Address { throw AddressFault("is none") }
    func address(givenAs text: String) throws(AddressFault) -> Address { throw AddressFault("is none") }
    func text(of address: Address) -> String { "" }
    func check(_ type: MessageType) throws(Rejection) {}
    func check(_ priority: PushPriority, for type: MessageType) throws(Rejection) {}
    func payloadLimit(of type: MessageType) -> Int { 4096 }

    func payload(from content: PlainContent, for options: MessageOptions) throws(Rejection) -> [UInt8] {
        let text = content.alert.flatMap { content.json.string($0) } ?? ""
        return Array(#"{"text":"\#(text)"}"#.utf8)
    }

    func findings(
        in payload: [UInt8], values: IndexedObject?, for options: MessageOptions
    ) throws(Rejection) -> [UInt8] { [] }
}
