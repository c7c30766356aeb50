import APNs
import FCM
import FoundationEssentials
import PushModel
import PushWire
import TestSupport
import Testing

@testable import PushAPI

/// The translation of gorush's notifications.
@Suite struct GorushRequestTests {
    private static let shop = AppID("shop")!
    private static let android = AppID("android")!
    static let token = String(repeating: "ab", count: 32)

    static let door = GorushApps(
        ios: shop, android: android,
        catalog: AppCatalog(
            [
                AppCatalog.App(
                    id: shop, codec: APNsCodec(app: shop, topic: "com.example.shop", usesToken: true),
                    environment: "production", topic: "com.example.shop"),
                AppCatalog.App(id: android, codec: FCMCodec()),
            ], others: APNsCodec.unconfigured))

    static func request(_ members: String, tokens: String = token, door: GorushApps = door) throws -> GorushRequest {
        let body = #"{"notifications":[{"tokens":["\#(tokens)"],\#(members)}]}"#
        return try GorushRequest(Array(body.utf8), door: door, key: nil)
    }

    private static func answer(_ log: GorushLog, counts: Int = 0) throws -> GorushAnswer {
        try JSONDecoder().decode(GorushAnswer.self, from: Data(log.answer(counts: counts).body))
    }

    private static func envelope(_ members: String) throws -> JSONValue {
        let push = try #require(try request(members).pushes.first)
        let document = try JSONDocument([UInt8(ascii: "{")] + push.envelope)
        return document.value(at: document.root)
    }

    /// Returns the payload of a notification, and the envelope without it, the app and the audience.
    private static func parts(_ members: String) throws -> (payload: JSONValue?, options: JSONValue) {
        guard case .object(var all) = try envelope(members) else { return (nil, .null) }
        let payload = all.removeValue(forKey: "payload")
        all["app"] = nil
        all["to"] = nil
        return (payload, .object(all))
    }

    private static func json(_ text: String) throws -> JSONValue {
        let document = try JSONDocument(Array(text.utf8))
        return document.value(at: document.root)
    }

    @Test(
        "A notification of platform 1 is Apple's payload",
        arguments: [
            (#""message":"m""#, #"{"aps":{"alert":"m"}}"#),
            (#""message":"m","title":"t""#, #"{"aps":{"alert":{"title":"t","body":"m"}}}"#),
            (#""title":"t""#, #"{"aps":{"alert":{"title":"t"}}}"#),
            (#""message":"m","title":"t","alert":{"body":"b"}"#, #"{"aps":{"alert":{"title":"t","body":"b"}}}"#),
            (#""message":"m","alert":{"subtitle":"s"}"#, #"{"aps":{"alert":{"body":"m","subtitle":"s"}}}"#),
            (
                #""message":"m","alert":{"loc-key":"k","loc-args":["a"],"title":"","summary-arg-count":0}"#,
                #"{"aps":{"alert":{"body":"m","loc-key":"k","loc-args":["a"]}}}"#
            ),
            (#""message":"m","alert":{},"title":"""#, #"{"aps":{"alert":"m"}}"#),
            (#""badge":0"#, #"{"aps":{"badge":0}}"#), (#""badge":-1,"message":"m""#, #"{"aps":{"alert":"m"}}"#),
            (#""message":"m","sound":"s""#, #"{"aps":{"alert":"m","sound":"s"}}"#),
            (
                #""message":"m","sound":{"critical":1,"name":"n","volume":0.5}"#,
                #"{"aps":{"alert":"m","sound":{"critical":1,"name":"n","volume":0.5}}}"#
            ),
            (
                #""message":"m","sound":"s","name":"n","volume":0.5"#,
                #"{"aps":{"alert":"m","sound":{"critical":1,"name":"n","volume":0.5}}}"#
            ),
            (
                #""message":"m","name":"n""#,
                #"{"aps":{"alert":"m","sound":{"critical":1,"name":"n","volume":1.0}}}"#
            ),
            (
                #""message":"m","mutable_content":true,"thread-id":"t","category":"c","interruption_level":"passive""#,
                #"{"aps":{"alert":"m","mutable-content":1,"thread-id":"t","category":"c","interruption-level":"passive"}}"#
            ),
            (#""message":"m","url-args":["a"]"#, #"{"aps":{"alert":"m","url-args":["a"]}}"#),
            (
                #""message":"m","data":{"a": [1, 2.50, "x y"], "b": {"c": null}}"#,
                #"{"aps":{"alert":"m"},"a":[1,2.50,"x y"],"b":{"c":null}}"#
            ),
            (
                #""event":"update","timestamp":5,"content-state":{"a":1},"stale-date":7,"dismissal-date":0,"relevance-score":0.5"#,
                #"{"aps":{"event":"update","timestamp":5,"content-state":{"a":1},"stale-date":7,"relevance-score":0.5}}"#
            ),
        ])
    func applePayloads(_ members: String, payload: String) throws {
        let parts = try Self.parts(#""platform":1,\#(members)"#)
        #expect(parts.payload == (try Self.json(payload)))
    }

    @Test(
        "The options of a notification of platform 1 are those of gorush, and a push type that follows from the content",
        arguments: [
            (#""message":"m""#, #"{"push_type":"alert"}"#),
            (#""message":"m","priority":"normal""#, #"{"push_type":"alert","priority":5}"#),
            (
                #""message":"m","priority":"high","collapse_id":"c""#,
                #"{"push_type":"alert","priority":10,"collapse_id":"c"}"#
            ),
            (#""content_available":true,"priority":"high""#, #"{"push_type":"background","priority":5}"#),
            (#""content_available":true,"message":"m""#, #"{"push_type":"alert"}"#),
            (#""content_available":true,"badge":0"#, #"{"push_type":"alert"}"#),
            (#""event":"end""#, #"{"push_type":"liveactivity"}"#),
            (#""topic":"com.example.shop.voip""#, #"{"push_type":"voip"}"#),
            (#""topic":"com.example.shop","push_type":"location""#, #"{"push_type":"location"}"#),
            (#""message":"m","expiration":0"#, #"{"push_type":"alert","expires_at":0}"#),
            (#""message":"m","expiration":-5"#, #"{"push_type":"alert","expires_at":0}"#),
            (#""message":"m","expiration":9,"production":true"#, #"{"push_type":"alert","expires_at":9}"#),
        ])
    func appleOptions(_ members: String, options: String) throws {
        #expect(try Self.parts(#""platform":1,\#(members)"#).options == Self.json(options))
    }

    @Test(
        "A notification of platform 2 is a message of FCM",
        arguments: [
            (#""message":"m","title":"t","image":"i""#, #"{"notification":{"title":"t","body":"m","image":"i"}}"#),
            (
                #""title":"t","notification":{"title":"a","body":"b","icon":"x"}"#,
                #"{"notification":{"title":"t","body":"b"}}"#
            ),
            (
                #""data":{"s":"x","n":42,"f":1.50,"b":true,"o":{"a": 1}}"#,
                #"{"data":{"s":"x","n":"42","f":"1.50","b":"true","o":"{\"a\":1}"}}"#
            ),
            (#""priority":"high","data":{"a":"b"}"#, #"{"android":{"priority":"high"},"data":{"a":"b"}}"#),
            (
                #""message":"m","sound":"s","priority":"high""#,
                #"{"notification":{"body":"m"},"android":{"priority":"high","notification":{"sound":"s"}},"apns":{"payload":{"aps":{"sound":"s"}}}}"#
            ),
            (
                #""message":"m","sound":"s","android":{"collapse_key":"k"}"#,
                #"{"notification":{"body":"m"},"android":{"collapse_key":"k"},"apns":{"payload":{"aps":{"sound":"s"}}}}"#
            ),
            (#""sound":{"name":"s"},"message":"m""#, #"{"notification":{"body":"m"}}"#),
            (
                #""content_available":true,"data":{"a":1}"#,
                #"{"data":{"a":"1"},"apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"content-available":1,"a":1}}}}"#
            ),
            (
                #""title":"t","mutable_content":true,"apns":{"payload":{"aps":{"badge":1}}}"#,
                #"{"notification":{"title":"t"},"apns":{"payload":{"aps":{"badge":1,"mutable-content":1}}}}"#
            ),
            (
                #""message":"m","fcm_options":{"analytics_label":"l"},"webpush":{"headers":{"TTL":"1"}}"#,
                #"{"notification":{"body":"m"},"fcm_options":{"analytics_label":"l"},"webpush":{"headers":{"TTL":"1"}}}"#
            ),
        ])
    func googlePayloads(_ members: String, payload: String) throws {
        #expect(try Self.parts(#""platform":2,\#(members)"#).payload == Self.json(payload))
    }

    @Test(
        "What cannot be carried out is refused by its place",
        arguments: [
            (#""platform":3"#, "notifications[0].platform is 3 (Huawei)"),
            (#""platform":9"#, "notifications[0].platform must be 1 (iOS) or 2 (Android)"),
            (#""message":"m""#, "notifications[0].platform is missing"),
            (#""platform":1,"massage":"m""#, "did you mean \"message\"?"),
            (#""platform":1,"badge":"1""#, "notifications[0].badge must be a whole number"),
            (#""platform":1,"mutable_content":1"#, "notifications[0].mutable_content must be true or false"),
            (#""platform":2,"badge":"1""#, "notifications[0].badge must be a whole number"),
            (#""platform":2,"topic":"news""#, "notifications[0].topic is refused"),
            (#""platform":2,"condition":"a || b""#, "notifications[0].condition is refused"),
            (#""platform":1,"topic":"com.example.other""#, "notifications[0].topic is not the topic of the app"),
            (#""platform":1,"topic":"com.example.shop.voip","push_type":"alert""#, "notifications[0].topic is that of"),
            (#""platform":1,"development":true"#, "notifications[0].development does not fit the app"),
            (#""platform":1,"priority":"urgent""#, "notifications[0].priority must be"),
            (#""platform":1,"data":{"aps":{}}"#, "notifications[0].data.aps is refused"),
            (#""platform":1,"alert":{"titel":"x"}"#, "notifications[0].alert has a key"),
            (#""platform":1,"alert":{"title":1}"#, "notifications[0].alert.title must be a string"),
            (#""platform":1,"sound":7"#, "notifications[0].sound must be a string or an object"),
            (#""platform":2,"apns":{"payload":7}"#, "notifications[0].apns.payload must be an object"),
            (#""platform":2,"notification":{"title":7}"#, "notifications[0].notification.title must be a string"),
        ])
    func refusals(_ members: String, problem: String) {
        let fault = #expect(throws: GorushFault.self) { try Self.request(members) }
        #expect(fault?.status == 400 && fault?.message.contains(problem) == true, "\(fault?.message ?? "")")
    }

    @Test("A platform without an app is refused by name, and the other is served")
    func oneApp() throws {
        let door = GorushApps(ios: Self.shop, android: nil, catalog: Self.door.catalog)
        #expect(try Self.request(#""platform":1,"message":"m""#, door: door).pushes.count == 1)
        let fault = #expect(throws: GorushFault.self) {
            try Self.request(#""platform":2,"message":"m""#, door: door)
        }
        #expect(fault?.message.hasSuffix("doors.gorush.apps.android is not set") == true)
    }

    @Test("What is no token is named in the answer, and the others are sent to")
    func tokens() throws {
        let text = #"\#(Self.token)","zz","","\#(Self.token.uppercased())"#
        let request = try Self.request(#""platform":1,"message":"m","notif_id":"n","to":"x""#, tokens: text)
        #expect(request.count == 5)
        #expect(request.pushes.map { $0.tokens.map(\.text) } == [[Self.token, Self.token.uppercased()]])
        let logs = try Self.answer(request.log).logs
        #expect(logs.map(\.token) == ["zz", "", "x"])
        #expect(logs.allSatisfy { $0.type == .failed && $0.notifID == "n" && $0.message == "m" })
        let nobody = try Self.request(#""platform":1,"message":"m""#, tokens: "zz")
        #expect(nobody.pushes.isEmpty && nobody.count == 1)
    }

    @Test("Keys without effect are named once, unless they say nothing")
    func ignored() throws {
        let request = try Self.request(
            #""platform":2,"message":"m","retry":3,"badge":5,"dismissal-date":0,"alert":{},"category":"","dry_run":true,"#
                + #""notification":{"icon":"x"},"collapse_key":null"#)
        let logs = try Self.answer(request.log).logs
        #expect(logs.map(\.type) == [.ignored])
        #expect(logs[0].error == "these keys have no effect: retry, badge, dry_run, notification.icon")
    }

    @Test("Of many keys without effect, as many as an answer names are noted")
    func manyIgnored() throws {
        let keys = (0..<60_000).map { #""k\#($0)":1"# }.joined(separator: ",")
        let document = try JSONDocument(Array(#"{"platform":2,"retry":3,"notification":{\#(keys)}}"#.utf8))
        var notification = try GorushNotification(document.root, number: 0, in: document)
        var writer = JSONWriter()
        try notification.writeGoogle(to: &writer)
        #expect(notification.ignored.count == 40 && notification.ignored.first == "retry")
        // A key of one character, of many bytes.
        let long = "a" + String(repeating: "\u{301}", count: 100_000)
        let request = try Self.request(#""platform":2,"message":"m","notification":{"\#(long)":1}"#)
        #expect(request.log.answer(counts: 0).body.count < 1000)
    }

    // MARK: The size of answers

    @Test("An answer repeats the beginning of texts, and names so many of the texts that are no tokens")
    func largeRefusals() throws {
        let (message, name) = (String(repeating: "日", count: 33_333), String(repeating: "n", count: 1000))
        let tokens = Array(repeating: "x", count: 5000).joined(separator: #"",""#)
        let request = try Self.request(
            #""platform":1,"message":"\#(message)","notif_id":"\#(name)","image":"i""#, tokens: tokens)
        let body = request.log.answer(counts: request.count).body
        let answer = try Self.answer(request.log, counts: request.count)
        #expect(answer.counts == 5000 && answer.success == "ok" && body.count < 1 << 20)
        #expect(answer.logs.map(\.type) == Array(repeating: .failed, count: 1000) + [.ignored, .leftOut])
        #expect(answer.logs[0].message == String(repeating: "日", count: 66))
        #expect(answer.logs[0].notifID == String(repeating: "n", count: 200))
        #expect(answer.logs.last?.error == "there is no room for more entries: 4000 failed-push")
    }

    @Test("An answer has the same bound whatever its entries are, and says what is left out")
    func largeAnswers() throws {
        var log = GorushLog()
        for number in 0..<20_000 {
            let type: GorushAnswer.Entry.Kind = number % 2 == 0 ? .duplicate : .pending
            log.append(
                GorushAnswer.Entry(
                    notifID: String(repeating: "\u{1}", count: 200), type: type, platform: "ios",
                    token: Self.token, message: String(repeating: "\"", count: 200), error: "e"))
        }
        let body = log.answer(counts: .max).body
        let logs = try Self.answer(log, counts: .max).logs
        let named = logs.count - 1
        #expect((GorushLog.maxAnswer - 4096...GorushLog.maxAnswer).contains(body.count) && named > 1000)
        let (duplicates, pending) = (10_000 - (named + 1) / 2, 10_000 - named / 2)
        #expect(logs.last?.type == .leftOut)
        #expect(
            logs.last?.error == "there is no room for more entries: \(duplicates) duplicate, \(pending) pending-push")
    }

    @Test("A text is cut between characters", arguments: ["", "n", "é", "日", "🦉", "e\u{301}"])
    func cuts(_ character: String) {
        for count in [1, 50, 66, 67, 100, 101, 200, 201, 300] {
            let text = "a" + String(repeating: character, count: count)
            let cut = GorushLog.cut(text)
            #expect(cut.utf8.count <= 200 && text.utf8.starts(with: cut.utf8) && !cut.contains("\u{fffd}"))
            #expect(text.utf8.count > 200 ? cut.utf8.count > 196 : cut == text)
        }
    }

    @Test("Changed bytes are either refused, or become envelopes that are JSON without a line end")
    func hostileBytes() throws {
        var random = SeededRandom(seed: 20)
        let bodies = [
            #"{"notifications":[{"tokens":["\#(Self.token)"],"platform":1,"message":"m","badge":5,"expiration":9,"#
                + #""alert":{"title":"t","loc-args":["a"]},"sound":{"name":"n"},"data":{"k":[1,{"a":"b\n"}]}}]}"#,
            #"{"notifications":[{"to":"APA91b","platform":2,"title":"t","priority":"high","sound":"s","data":{"n":42},"#
                + #""android":{"ttl":"5s"},"apns":{"payload":{"aps":{"badge":1}}},"content_available":true}]}"#,
        ]
        var taken = 0
        for number in 0..<20_000 {
            let body = random.mutate(Array(bodies[number % 2].utf8), chance: 0.95)
            guard let request = try? GorushRequest(body, door: Self.door, key: nil) else { continue }
            for push in request.pushes {
                taken += 1
                #expect(!push.envelope.contains(UInt8(ascii: "\n")))
                #expect(throws: Never.self) { try JSONDocument([UInt8(ascii: "{")] + push.envelope) }
            }
        }
        #expect(taken > 1000)
    }
}
