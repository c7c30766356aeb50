import PushModel
import PushWire
import Testing

@Suite struct ReplayRequestTests {
    static func read(_ text: String) throws(Rejection) -> ReplayRequest {
        try ReplayRequest.read(Array(text.utf8))
    }

    @Test(arguments: [
        ("{}", ReplayRequest()),
        (#"{"since":7,"prefix":"delivery/shop/","limit":10000}"#, ReplayRequest(since: 7, prefix: "delivery/shop/")),
        (#" {"limit":1 , "since":9223372036854775807} "#, ReplayRequest(since: 9_223_372_036_854_775_807, limit: 1)),
        // The responder limits its answer itself.
        (#"{"limit":1000000}"#, ReplayRequest(limit: 1_000_000)),
        (#"{"\u0073ince":0,"prefix":""}"#, ReplayRequest()),
    ])
    func `Omitted members have their defaults`(_ text: String, _ request: ReplayRequest) throws {
        #expect(try Self.read(text) == request)
    }

    @Test(
        arguments: [
            ("", .badJSON, ""), ("{", .badJSON, ""), ("{}x", .badJSON, ""), ("[]", .badJSON, "an array"),
            (#"{"prefix":"\#(String(repeating: "x", count: 5000))"}"#, .badJSON, "too long"),
            (#"{"since":1,"since":1}"#, .badField, "twice"), (#"{"from":1}"#, .badField, #"no key "from""#),
            (#"{"limits":1}"#, .badField, "did you mean limit?"), (#"{"since":-1}"#, .badField, "since is -1"),
            (#"{"since":"1"}"#, .badField, "since is a string"), (#"{"since":1.0}"#, .badField, "not a whole number"),
            (#"{"since":9223372036854775808}"#, .badField, "64 bits"), (#"{"limit":0}"#, .badField, "it must be 1 to"),
            (#"{"prefix":null}"#, .badField, "prefix is null"),
            (#"{"prefix":"\#(String(repeating: "x", count: 256))"}"#, .badField, "256 bytes"),
        ] as [(String, RejectionReason, String)])
    func `A rejection has the reason and the cause`(_ text: String, _ reason: RejectionReason, _ words: String) throws {
        let rejection = #expect(throws: Rejection.self) { _ = try Self.read(text) }
        #expect(rejection?.reason == reason)
        #expect(words.isEmpty || rejection?.detail.contains(words) == true, "\(rejection?.detail ?? "")")
    }
}
