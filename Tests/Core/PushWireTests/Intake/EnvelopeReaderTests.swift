import APNs
import PushModel
import PushWire
import TestSupport
import Testing

@Suite struct EnvelopeReaderTests {
    typealias Examples = EnvelopeExamples

    @Test func `An envelope with every option is parsed`() throws {
        let request = try Examples.request(
            #"""
            "push_type":"background","priority":1,"expires_at":1767225600,"not_before":1767200000,
            "collapse_id":"order-4711","on_unknown":"drop","again":true,"traceparent":"00-ab"
            """#, frame: Examples.wakes)
        let message = request.message
        #expect(message.id.text == "m-1")
        #expect(message.app.name == "shop")
        #expect(message.type == MessageType(.background))
        #expect(message.priority == .one)
        #expect(message.expiry.expiresAt == 1_767_225_600)
        #expect(message.notBefore == 1_767_200_000)
        #expect(message.collapseID?.text == "order-4711")
        #expect(message.onUnknown == .drop)
        #expect(message.traceparent == "00-ab")
        #expect(message.payload == Array(Examples.wakes.utf8))
        #expect(request.again)
        #expect(request.audience == .tokens([Address(hex: Examples.token)!]))
    }

    @Test func `Omitted options have their defaults`() throws {
        let request = try Examples.request()
        #expect(request.message.type == .alert)
        #expect(request.message.priority == .ten)
        #expect(request.message.expiry.expiresAt == nil)
        #expect(request.message.notBefore == nil)
        #expect(request.message.collapseID == nil)
        #expect(request.message.onUnknown == .resend)
        #expect(request.message.traceparent == nil)
        #expect(!request.again)
        let background = try Examples.request(#""push_type":"background""#, frame: Examples.wakes)
        #expect(background.message.priority == .five)
    }

    @Test(arguments: PushType.allCases)
    func `Every push type is recognized`(_ type: PushType) throws {
        let request = try Examples.request(#""push_type":"\#(type.rawValue)""#, frame: Examples.frame(of: type))
        #expect(request.message.type == MessageType(type))
    }

    @Test func `An envelope may contain escapes and white space, and its keys may be in any order`() throws {
        let text = """
            \t{ "to" : { "tokens" : [ "\(Examples.token.uppercased())" ] } ,\r
              "\\u0061pp" : "sh\\u006fp" , "id" : "\\u00fc-\\ud83d\\ude00\\/" } \n
            """
        let request = try Examples.read(text).get()
        #expect(request.message.id.text == "ü-😀/")
        #expect(request.message.app.name == "shop")
        #expect(request.audience == .tokens([Address(hex: Examples.token)!]))
    }

    @Test func `Apps are found by their names, including long ones`() throws {
        let text = Examples.envelope().replacing("shop", with: "an-app.of_a.long-name")
        #expect(try Examples.read(text).get().message.app.name == "an-app.of_a.long-name")
    }

    @Test func `A not_before in the past or up to the limit is accepted`() throws {
        #expect(try Examples.request(#""not_before":\#(Examples.now)"#).message.notBefore == Examples.now)
        #expect(try Examples.request(#""not_before":0"#).message.notBefore == 0)
        #expect(try Examples.request(#""not_before":\#(Examples.now + 1)"#).message.notBefore == Examples.now + 1)
        let last = Examples.now + 366 * 86_400
        #expect(try Examples.request(#""not_before":\#(last)"#).message.notBefore == last)
    }

    @Test(arguments: [1_766_999_999, 1_767_000_000] as [Int64])
    func `An expires_at in the past is accepted, since the ledger decides about it`(time: Int64) throws {
        #expect(try Examples.request(#""expires_at":\#(time)"#).message.expiry.expiresAt == time)
    }

    @Test func `A message for a single attempt may be scheduled`() throws {
        let request = try Examples.request(#""expires_at":0,"not_before":\#(Examples.now + 60)"#)
        #expect(request.message.expiry.expiresAt == 0)
        #expect(request.message.notBefore == Examples.now + 60)
    }

    @Test(
        arguments: [
            // Invalid JSON.
            ("", .badJSON, "empty"), ("{", .badJSON, "ends"), ("[]", .badJSON, "an array"),
            ("7", .badJSON, "a number"),
            (Examples.envelope() + "x", .badJSON, "follows"), (Examples.envelope() + "{}", .badJSON, "follows"),
            (Examples.envelope(#""again":tru"#), .badJSON, "true"),
            (Examples.envelope(#""priority":01"#), .badJSON, ""),
            (Examples.envelope(#""priority":1 0"#), .badJSON, ""),
            (Examples.envelope(#""again":true,"#), .badJSON, "key"),
            (Examples.envelope(#""collapse_id":"\ud800""#), .badJSON, "unpaired"),
            (Examples.envelope(#""collapse_id":"\x""#), .badJSON, "escape"),
            ("\u{feff}" + Examples.envelope(), .badJSON, "byte order mark"),
            (Examples.envelope(#""collapse_id":"a\#u{1}""#), .badJSON, "control"),
            // Missing keys.
            (#"{"app":"shop"}"#, .missingField, "id"), (#"{"id":"a"}"#, .missingField, "app"),
            (#"{"id":"a","app":"shop"}"#, .missingField, "to"),
            // Unknown and duplicate keys.
            (Examples.envelope(#""colapse_id":"x""#), .badField, "did you mean collapse_id?"),
            (Examples.envelope(#""zzzzzzzzz":1"#), .badField, #""zzzzzzzzz""#),
            (Examples.envelope(#""title":"x""#), .badField, "it is a member of alert"),
            (#"{"id":"a","app":"shop","to":"all"}"#, .badAudience, #"for all devices, give {"all": true}"#),
            (#"{"id":"a","app":"shop","to":{"tokens":["xyz"]}}"#, .badToken, "is not hexadecimal"),
            (#"{"id":"a","app":"shop","to":{"tokens":["abc"]}}"#, .badToken, "an odd number of digits"),
            (Examples.envelope(#""expires_at":"2026-01-01""#), .badField, "seconds since 1970"),
            (Examples.envelope(#""id\u0000":"x""#), .badField, "no key"),
            (Examples.envelope(#""":1"#), .badField, "no key"),
            (Examples.envelope(#""id":"m-1""#), .badField, "id is given twice"),
            (Examples.envelope(#""\u0069d":"m-1""#), .badField, "id is given twice"),
            // Ids and apps.
            (#"{"id":7,"app":"shop"}"#, .badField, "id is a number, not a string"),
            (#"{"id":"","app":"shop"}"#, .badField, "empty"),
            (#"{"id":"a\u0000b","app":"shop"}"#, .badField, "control"),
            (#"{"id":"a\u007f","app":"shop"}"#, .badField, "control"),
            (#"{"id":"a\u0080","app":"shop"}"#, .badField, "control"),
            (#"{"id":"a\u009b31m","app":"shop"}"#, .badField, "control"),
            ("{\"id\":\"a\u{9f}\",\"app\":\"shop\"}", .badField, "control"),
            (Examples.envelope(#""collapse_id":"a\u0085b""#), .badField, "control"),
            (#"{"id":"\#(String(repeating: "ä", count: 65))","app":"shop"}"#, .badField, "130 bytes"),
            (#"{"id":"..","app":"shop"}"#, .badField, "id has a step . or .."),
            (#"{"id":"order/./1","app":"shop"}"#, .badField, "id has a step . or .."),
            (#"{"id":"a\\..","app":"shop"}"#, .badField, "id has a step . or .."),
            (#"{"id":"a","app":"shopp"}"#, .unknownApp, #""shopp""#), (#"{"id":"a","app":""}"#, .unknownApp, ""),
            (#"{"id":"a","app":null}"#, .badField, "app is null, not a string"),
            // Options.
            (Examples.envelope(#""push_type":"alarm""#), .badField, "did you mean alert?"),
            (Examples.envelope(#""push_type":""# + "\""), .badField, "one of alert"),
            (Examples.envelope(#""push_type":1"#), .badField, "push_type is a number, not a string"),
            (Examples.envelope(#""priority":"10""#), .badField, "priority is a string, not 10, 5 or 1"),
            (Examples.envelope(#""priority":10.5"#), .badField, "not a whole number of 64 bits"),
            (Examples.envelope(#""priority":1e30"#), .badField, "not a whole number of 64 bits"),
            (Examples.envelope(#""priority":7"#), .badField, "10, 5 or 1"),
            (Examples.envelope(#""priority":-10"#), .badField, "negative"),
            (Examples.envelope(#""priority":266"#), .badField, "266"),
            (Examples.envelope(#""push_type":"background","priority":10"#), .badField, "background"),
            (Examples.envelope(#""expires_at":-1"#), .badField, "negative"),
            (Examples.envelope(#""expires_at":9223372036854775808"#), .badField, "64 bits"),
            (Examples.envelope(#""expires_at":123456789012345678901234567890"#), .badField, "64 bits"),
            (Examples.envelope(#""expires_at":null"#), .badField, "expires_at is null"),
            (Examples.envelope(#""expires_at":1767000000000"#), .badField, "seconds"),
            (Examples.envelope(#""expires_at":4294967296"#), .badField, "2105"),
            (Examples.envelope(#""not_before":1798622401"#), .badField, "a year and a day"),
            (Examples.envelope(#""not_before":1767000000000"#), .badField, "seconds"),
            (
                Examples.envelope(#""not_before":1767000060,"expires_at":1767000060"#), .badField,
                "not before expires_at"
            ),
            (Examples.envelope(#""collapse_id":"\#(String(repeating: "x", count: 65))""#), .badField, "65 bytes"),
            (Examples.envelope(#""collapse_id":"""#), .badField, "empty"),
            (Examples.envelope(#""collapse_id":["x"]"#), .badField, "collapse_id is an array, not a string"),
            (Examples.envelope(#""on_unknown":"retry""#), .badField, "resend, drop"),
            (Examples.envelope(#""on_unknown":true"#), .badField, "on_unknown is a boolean"),
            (Examples.envelope(#""again":1"#), .badField, "again is a number"),
            (Examples.envelope(#""again":"true""#), .badField, "again is a string"),
            (Examples.envelope(#""traceparent":"ü""#), .badField, "traceparent"),
            (Examples.envelope(#""traceparent":"\#(String(repeating: "0", count: 129))""#), .badField, "traceparent"),
            (Examples.envelope(#""traceparent":{}"#), .badField, "traceparent is an object, not a string"),
        ] as [(String, RejectionReason, String)])
    func `A rejection has the reason and the cause`(_ envelope: String, _ reason: RejectionReason, _ words: String) {
        let rejection = Examples.rejection(envelope)
        #expect(rejection?.reason == reason)
        #expect(words.isEmpty || rejection?.detail.contains(words) == true, "\(rejection?.detail ?? "")")
    }

    @Test func `A push type that needs a provider token is rejected for an app with a certificate`() {
        let text = Examples.envelope(#""push_type":"location""#)
        #expect(Examples.rejection(text) == nil)
        #expect(Examples.rejection(text.replacing("shop", with: "bank"))?.reason == .badField)
    }

    @Test func `A push type that does not fit the topic of the app is rejected`() {
        let text = Examples.envelope().replacing("shop", with: "calls")
        #expect(Examples.rejection(text)?.detail.contains("com.example.shop.voip") == true)
    }

    @Test func `Invalid UTF-8 is rejected, even in strings that are not used`() {
        for place in [#"{"id":"m-"#, #""x":""#] {
            var bytes = Array(Examples.envelope(#""custom":{"x":"y"}"#).utf8)
            bytes[bytes.firstRange(of: Array(place.utf8))!.upperBound] = 0xff
            #expect(Examples.rejection(bytes, frame: nil)?.reason == .badJSON)
        }
    }

    // MARK: The message of a fault

    @Test(
        arguments: [
            (Examples.envelope(#""bogus":1"#), "m-1", "shop"),
            (#"{"bogus":1,"to":{},"app":"shop","id":"m-1"}"#, "m-1", "shop"),
            (#"{"app":"nope","id":"m-1"}"#, "m-1", nil),
            (#"{"id":"a\u0000b","app":"shop"}"#, "a\0b", "shop"),
            (#"{"id":5,"app":"shop"}"#, nil, "shop"),
            (#"{"id":"m-1","app":"shop","to":{"tokens":["#, "m-1", "shop"),
            (#"{"id":"m-1","app":"shop" "#, "m-1", "shop"),
            (#"{"id":"m-1"#, nil, nil),
            (#"{"id":"\#(String(repeating: "ä", count: 100))"}"#, String(repeating: "ä", count: 64), nil),
            ("[]", nil, nil), ("", nil, nil),
        ] as [(String, String?, String?)])
    func `A fault contains the id and the app as far as they can be read`(
        _ envelope: String, _ id: String?, _ app: String?
    ) throws {
        guard case .failure(let fault) = Examples.read(envelope) else {
            Issue.record("the envelope was accepted")
            return
        }
        #expect(fault.id == id)
        #expect(fault.app?.name == app)
    }

    @Test func `A reader can be reused after faults`() throws {
        let reader = EnvelopeReader(apps: Examples.apps)
        for number in 0..<100 {
            let bad = Examples.read(Array("{\"id\":\"x\(number)\"".utf8), by: reader)
            #expect(throws: EnvelopeFault.self) { try bad.get() }
            let text = Examples.envelope().replacing("m-1", with: "m-\(number)")
            #expect(try Examples.read(Array(text.utf8), by: reader).get().message.id.text == "m-\(number)")
        }
    }
}
