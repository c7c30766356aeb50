import PushModel
import PushWire
import Testing

@Suite struct EnvelopeAudienceTests {
    typealias Examples = EnvelopeExamples

    static func tokens(_ tokens: [String]) -> String {
        #"{"tokens":[\#(tokens.map { "\"\($0)\"" }.joined(separator: ","))]}"#
    }

    /// Returns 64 digits that end with a number.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    @Test func `Tokens are parsed in either case and with any valid length`() throws {
        let hex = [
            "00", "AbCd", Examples.token, Examples.token.uppercased() + "ff", String(repeating: "9F", count: 100),
        ]
        let request = try Examples.request(to: Self.tokens(hex))
        #expect(request.audience == .tokens(hex.map { Address(hex: $0)! }))
    }

    @Test(arguments: [2, 3, 5, 64, 1000])
    func `A duplicate token counts once`(_ count: Int) throws {
        let hex = (0..<count).map { Self.token($0 / 2) }
        let request = try Examples.request(to: Self.tokens(hex + [hex[0].uppercased()]))
        #expect(request.audience == .tokens((0..<(count + 1) / 2).map { Address(hex: Self.token($0))! }))
    }

    @Test func `Long tokens that differ only at the end are different tokens`() throws {
        let hex = [Examples.token + "aa", Examples.token + "ab", Examples.token, Examples.token + "AA"]
        #expect(
            try Examples.request(to: Self.tokens(hex)).audience == .tokens(hex.prefix(3).map { Address(hex: $0)! }))
    }

    @Test func `Similar names have different hashes`() {
        // A word that equals a constant of the hash, or zero, must not hide the other words.
        let golden: UInt64 = 0x9e37_79b9_7f4a_7c15
        let seed: UInt64 = 0x0123_4567_89ab_cdef
        for word in [0, 1, golden, ~golden, .max] {
            let tokens = (0..<1000).map { Address(words: (UInt64($0), word, 0, 7)).tableHash(seed: seed) }
            #expect(Set(tokens.map { $0 & 0xffff }).count > 900)
            let devices = (0..<1000).map { DeviceID(high: UInt64($0), low: word).tableHash(seed: seed) }
            #expect(Set(devices.map { $0 & 0xffff }).count > 900)
        }
    }

    @Test func `The rejection of a malformed token contains its position, not its content`() {
        for (bad, words) in [
            ("", "is empty"), ("abc", "odd number"), (String(repeating: "ab", count: 101), "202 digits"),
            ("zz", "not hexa"),
            (Examples.token.dropLast() + "g", "not hexa"), (Examples.token.dropLast() + "é", "not hexa"),
            (Examples.token.dropLast(2) + "é", "not hexa"),
        ] {
            let rejection = Examples.rejection(Examples.envelope(to: Self.tokens([Examples.token, bad, "ab"])))
            #expect(rejection?.reason == .badToken)
            #expect(rejection?.detail.hasPrefix("token 2 of 3 ") == true)
            #expect(rejection?.detail.contains(words) == true, "\(rejection?.detail ?? "")")
            #expect(bad.count < 4 || rejection?.detail.contains(bad) == false)
        }
        #expect(
            Examples.rejection(Examples.envelope(to: #"{"tokens":["ab",["cd"],7]}"#))
                == Rejection(.badToken, detail: "token 2 of 3 is an array, not a string"))
    }

    @Test func `The fast and the slow parser agree on every byte as a digit`() throws {
        for byte in UInt8.min ... .max {
            let digits: [UInt8] = Array(repeating: UInt8(ascii: "5"), count: 64)
            for place in [0, 7, 8, 31, 63] {
                var digits = digits
                digits[place] = byte
                let slow = String(validating: digits, as: UTF8.self).flatMap { Address(hex: $0) }
                #expect(digits.withUnsafeBytes { Address(hexBytes: $0) } == slow)
                let device = String(validating: digits[32...], as: UTF8.self).flatMap { DeviceID($0) }
                #expect(Array(digits[32...]).withUnsafeBytes { DeviceID(hexBytes: $0) } == device)
            }
        }
    }

    @Test func `Audiences of devices, users, tags and all are parsed`() throws {
        let id = "00112233445566778899aabbccddeeff"
        #expect(
            try Examples.request(to: #"{"devices":["\#(id)","\#(id)"]}"#).audience == .devices([DeviceID(id)!]))
        #expect(try Examples.request(to: #"{"users":["a","\u0061","b"]}"#).audience == .users(["a", "b"]))
        #expect(try Examples.request(to: #"{"tags":"a"}"#).audience == .tags(.tag("a")))
        #expect(try Examples.request(to: #"{"all":true}"#).audience == .everyone)
        #expect(
            try Examples.request(to: #"{"tags":{"all":["a",{"any":["b","c"]},{"not":"d"},{"not":{"all":["e"]}}]}}"#)
                .audience
                == .tags(.all([.tag("a"), .any([.tag("b"), .tag("c")]), .not(.tag("d")), .not(.all([.tag("e")]))])))
    }

    @Test func `Two Unicode spellings of one letter are two users`() throws {
        guard case .users(let users) = try Examples.request(to: #"{"users":["\u00e9","e\u0301"]}"#).audience else {
            Issue.record("not users")
            return
        }
        #expect(users.map { Array($0.utf8) } == [[0xc3, 0xa9], [0x65, 0xcc, 0x81]])
    }

    @Test(arguments: [
        ("[]", "to is an array"), ("{}", "exactly one"), (#"{"all":true,"users":["a"]}"#, "exactly one"),
        (#"{"all":true,"all":true}"#, "exactly one"), (#"{"token":["ab"]}"#, "did you mean tokens?"),
        (#"{"x\u0000":1}"#, "has no key"), (#"{"all":false}"#, "all must be true"),
        (#"{"all":"true"}"#, "all must be true"),
        (#"{"tokens":[]}"#, "tokens is empty"), (#"{"devices":[]}"#, "devices is empty"),
        (#"{"users":[]}"#, "users is empty"), (#"{"tokens":"ab"}"#, "tokens is a string, not an array"),
        (#"{"devices":{}}"#, "devices is an object"), (#"{"users":null}"#, "users is null"),
        (#"{"devices":["00112233445566778899AABBCCDDEEFF"]}"#, "device 1 of 1"),
        (#"{"devices":["00112233445566778899aabbccddeeff",3]}"#, "device 2 of 2"),
        (#"{"users":["a",""]}"#, "user 2 of 2 is 0 bytes"), (#"{"users":[1]}"#, "user 1 of 1 is a number"),
        (#"{"users":["\#(String(repeating: "u", count: 256))"]}"#, "256 bytes"),
        (#"{"users":["a","b\u0000"]}"#, "user 2 of 2 has a control character"),
        (#"{"users":["a\u009bb"]}"#, "user 1 of 1 has a control character"),
        (#"{"users":["a",".."]}"#, "a user has a step . or .. of a path"),
        (#"{"users":["a","b\\.\\c"]}"#, "a user has a step . or .. of a path"),
        (#"{"tags":"a\u007f"}"#, "a tag has a control character"),
        (#"{"tags":{"not":{"any":["a","\u0085"]}}}"#, "a tag has a control character"),
        (#"{"tags":[]}"#, "an array is not a tag expression"), (#"{"tags":1}"#, "a number"),
        (#"{"tags":{}}"#, "exactly one"),
        (#"{"tags":{"all":[]}}"#, "all is empty"), (#"{"tags":{"any":"a"}}"#, "any is a string, not an array"),
        (#"{"tags":{"not":["a"]}}"#, "an array is not"), (#"{"tags":{"none":["a"]}}"#, #"no key "none""#),
        (#"{"tags":{"all":["a"],"any":["b"]}}"#, "exactly one"), (#"{"tags":""}"#, "0 bytes"),
        (#"{"tags":"\#(String(repeating: "t", count: 129))"}"#, "129 bytes"),
    ])
    func `An invalid audience is rejected with the cause`(_ to: String, _ words: String) {
        let rejection = Examples.rejection(Examples.envelope(to: to))
        #expect(rejection?.reason == .badAudience)
        #expect(rejection?.detail.contains(words) == true, "\(rejection?.detail ?? "")")
    }

    @Test func `The depth and the number of tags are limited`() throws {
        func nested(_ depth: Int) -> String {
            #"{"tags":"# + String(repeating: #"{"any":["#, count: depth) + #""a""#
                + String(repeating: "]}", count: depth)
                + "}"
        }
        func many(_ count: Int) -> String {
            let tags = (0..<count).map { "\"t\($0)\"" }
            let half = tags.prefix(count / 2).joined(separator: ",")
            return
                #"{"tags":{"all":[{"any":[\#(half)]},{"any":[\#(tags.dropFirst(count / 2).joined(separator: ","))]}]}}"#
        }
        _ = try Examples.request(to: nested(TagExpression.maxDepth))
        _ = try Examples.request(to: many(TagExpression.maxTags))
        for to in [nested(TagExpression.maxDepth + 1), many(TagExpression.maxTags + 1)] {
            #expect(Examples.rejection(Examples.envelope(to: to))?.reason == .badAudience)
        }
        // An envelope nested deeper than any valid one is rejected before the end of its text.
        for depth in [40, 1000, 100_000] {
            #expect(Examples.rejection(Examples.envelope(to: nested(depth)))?.reason == .badJSON)
        }
    }

    @Test func `The largest number of names is accepted, and one more is rejected`() throws {
        let most = Audience.maxNames
        let request = try Examples.request(to: Self.tokens((0..<most).map(Self.token)))
        #expect(request.audience.named == most)
        let users = (0...most).map { "\"u\($0)\"" }.joined(separator: ",")
        #expect(Examples.rejection(Examples.envelope(to: #"{"users":[\#(users)]}"#))?.reason == .tooMany)
        let tokens = Self.tokens((0...most).map(Self.token))
        guard case .failure(let fault) = Examples.read(#"{"to":\#(tokens),"app":"shop","id":"m-1"}"#) else {
            Issue.record("the envelope was accepted")
            return
        }
        #expect(fault.rejection == Rejection(.tooMany, detail: "100001 tokens; one message names at most 100000"))
        #expect(fault.id == "m-1")
        #expect(fault.app?.name == "shop")
    }

    @Test func `A million tokens are rejected, and the next envelope is parsed`() throws {
        let reader = EnvelopeReader(apps: Examples.apps)
        let short =
            #"{"to":{"tokens":["ab""# + String(repeating: #","cd""#, count: 999_999) + #"]},"app":"shop","id":"m-1"}"#
        let long =
            #"{"id":"m-1","app":"shop","to":{"tokens":[""# + Examples.token + "\""
            + String(repeating: ",\"\(Examples.token)\"", count: 999_999) + "]}}"
        for text in [short, long] {
            guard case .failure(let fault) = Examples.read(Array(text.utf8), by: reader) else {
                Issue.record("the envelope was accepted")
                continue
            }
            #expect(fault.rejection.reason == .tooMany)
            #expect(fault.id == "m-1")
        }
        #expect(try Examples.read(Array(Examples.envelope().utf8), by: reader).get().message.id.text == "m-1")
    }

    @Test func `Envelopes with too many values of other kinds are rejected`() {
        let keys = (0..<200_000).map { "\"k\($0)\":1" }.joined(separator: ",")
        #expect(Examples.rejection("{\(keys)}")?.reason == .badField)
        let lists = String(repeating: "[1,2],", count: 200_000) + "0"
        #expect(
            Examples.rejection(Examples.envelope(#""custom":{"a":[\#(lists)]}"#), frame: nil)?.reason
                == .payloadTooLarge)
        let long = Examples.envelope(#""custom":{"a":"\#(String(repeating: "x", count: 33 << 20))"}"#)
        #expect(Examples.rejection(long, frame: nil)?.reason == .badFrame)
    }
}
