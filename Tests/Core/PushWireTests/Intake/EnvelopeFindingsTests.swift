import PushModel
import TestSupport
import TestTraits
import Testing

@testable import APNs
@testable import PushWire

/// The payload rules at intake: violations of the push type's rules are rejected, harmless problems are reported in the
/// ack.
@Suite struct EnvelopeFindingsTests {
    typealias Examples = EnvelopeExamples

    static func aps(_ members: String) -> String { #"{"aps":{\#(members)}}"# }

    static func typed(_ type: PushType) -> String { #""push_type":"\#(type.rawValue)""# }

    static func findings(_ request: PushRequest) throws -> [[String: String]] {
        guard !request.findings.isEmpty else { return [] }
        let document = try JSONDocument(request.findings)
        return document.elements(document.root).map { finding in
            var members: [String: String] = [:]
            for member in document.members(finding) {
                members[document.string(member.key) ?? ""] = document.string(member.value)
            }
            return members
        }
    }

    @Test(
        arguments: [
            (.alert, #"{"aps":5}"#, "aps: it is a number, not an object"),
            (.alert, #"{"aps":[]}"#, "aps: it is an array"), (.voip, #"{"aps":null}"#, "aps: it is null"),
            (.background, aps(""), "aps.content-available: without it the app is not woken"),
            (.background, aps(#""content-available":0"#), "aps.content-available: only 1 has an effect"),
            (.background, aps(#""content-available":true"#), "aps.content-available: it is a boolean"),
            (.background, aps(#""content-available":1,"alert":"a""#), "aps.alert: a background notification shows"),
            (.background, aps(#""content-available":1,"badge":1"#), "aps.badge: a background notification shows"),
            (.background, #"{"order":1}"#, "there is no aps"), (.liveactivity, "{}", "there is no aps"),
            (.liveactivity, aps(#""alert":"a""#), "aps.timestamp: it is missing"),
            (.widgets, aps(""), "aps.content-changed: without it nothing is reloaded"),
            (.controls, aps(#""content-changed":false"#), "aps.content-changed: without it nothing is reloaded"),
            (.accessory, aps(#""encryptedData":"e""#), "aps.sessionIdentifier: it is missing"),
            (
                .accessory, aps(#""encryptedData":1,"sessionIdentifier":"s","keyID":"k","messageIndex":"7""#),
                "aps.encryptedData: it is a number"
            ),
            (.mdm, aps(""), "mdm: it is missing"), (.fileprovider, "{}", "container-identifier: it is missing"),
        ] as [(PushType, String, String)])
    func `A payload that violates the rules of its push type is rejected`(
        _ type: PushType, _ payload: String, _ words: String
    ) {
        let framed = Examples.rejection(Examples.envelope(Self.typed(type)), frame: payload)
        #expect(framed?.reason == .badPayload)
        #expect(framed?.detail.hasPrefix(words) == true, "\(framed?.detail ?? "")")
        let inline = Examples.envelope(Self.typed(type) + #","payload":\#(payload)"#)
        #expect(Examples.rejection(inline, frame: nil) == framed)
    }

    @Test func `Plain fields with an alert are rejected for a background notification`() {
        let envelope = Examples.envelope(Self.typed(.background) + #","alert":"Hello""#)
        #expect(Examples.rejection(envelope, frame: nil)?.reason == .badPayload)
    }

    @Test(
        arguments: [
            (.alert, aps(#""alert":"Hi","bagde":1"#), "misspelt_key", "aps.bagde"),
            (.alert, aps(#""alert":{"titel":"Hi"}"#), "misspelt_key", "aps.alert.titel"),
            (.alert, aps(#""alert":"Hi","order":1"#), "custom_inside_aps", "aps.order"),
            (.alert, aps(#""alert":"Hi","badge":"1""#), "wrong_type", "aps.badge"),
            (.alert, #"{"aps":{"alert":"Hi"},"sound":"default"}"#, "key_outside_aps", "sound"),
            (.alert, aps(""), "nothing_to_show", "aps"), (.alert, #"{"order":1}"#, "no_aps", ""),
            (.voip, aps(#""alert":7"#), "wrong_type", "aps.alert"),
            (.mdm, #"{"mdm":"x","aps":{}}"#, "aps_beside_mdm", "aps"),
        ] as [(PushType, String, String, String)])
    func `A harmless problem is accepted and reported as a finding`(
        _ type: PushType, _ payload: String, _ code: String, _ path: String
    ) throws {
        for (members, frame) in [("", payload), (#","payload":\#(payload)"#, nil)] {
            let request = try Examples.request(Self.typed(type) + members, frame: frame)
            let findings = try Self.findings(request)
            #expect(findings.count == 1)
            #expect(findings.first?["code"] == code)
            #expect(findings.first?["path"] == path)
            #expect(findings.first?["detail"]?.isEmpty == false)
        }
    }

    @Test func `Harmless problems in plain fields are reported as findings`() throws {
        let fields = try Examples.request(#""badge":1,"image":"https://a.example/b.png""#, frame: nil)
        #expect(try Self.findings(fields).map { $0["code"] } == ["mutable_without_alert"])
    }

    @Test func `The number of findings in an ack is limited`() throws {
        let slips = (0..<300).map { "\"k\($0)\":1" }.joined(separator: ",")
        #expect(try Self.findings(try Examples.request(frame: Self.aps(slips))).count == 10)
        // A violated rule is found after them, too.
        let background = Examples.envelope(Self.typed(.background))
        #expect(Examples.rejection(background, frame: Self.aps(slips))?.reason == .badPayload)
    }

    @Test(arguments: PushType.allCases) func `A correct payload has no findings`(_ type: PushType) throws {
        let expires = type == .pushtotalk ? #","expires_at":0"# : ""
        let request = try Examples.request(Self.typed(type) + expires, frame: Examples.frame(of: type))
        #expect(request.findings.isEmpty)
    }

    // MARK: The quick check

    /// Returns the result of the quick check of a payload.
    static func isClean(_ payload: [UInt8], _ options: PushOptions) -> Bool {
        var index = JSONIndex()
        let text = ByteView.lending(payload) { index.padded($0) }
        guard index.read(text) == .json, let json = index.values(in: text), json.kind(0) == .object else {
            return false
        }
        return PayloadQuickCheck(json, type: options.pushType).isClean(0) && PayloadQuickCheck.isClean(options)
    }

    /// Returns options as intake has them: valid, and without a time to compare expirations with.
    static func options(_ type: PushType, expiration: Int64? = nil) -> PushOptions {
        PushOptions(.device(type), priority: Int(type.defaultPriority.rawValue), expiration: expiration)
    }

    @Test(
        arguments: [
            (.alert, #"{"aps":{"alert":{"title":"T","body":"B"},"sound":"default","badge":3},"order":"4711"}"#),
            (.alert, aps(#""alert":"Hi","mutable-content":1,"category":"C","thread-id":"t","content-available":1"#)),
            (.alert, aps(#""alert":{"loc-key":"K","loc-args":["a"]},"interruption-level":"time-sensitive""#)),
            (.alert, aps(#""badge":0"#)), (.alert, aps(#""alert":"\u0041","relevance-score":0.75,"url-args":["x"]"#)),
            (.background, Examples.wakes), (.background, #"{"event":"x","aps":{"content-available":1}}"#),
            (.voip, "{}"), (.location, "{}"), (.complication, #"{"n":1}"#),
            (
                .liveactivity,
                aps(#""event":"update","timestamp":5,"content-state":{"a":[1]},"alert":{"title":"T"},"stale-date":6"#)
            ),
            (.liveactivity, aps(#""event":"end","timestamp":5,"content-state":{},"dismissal-date":7"#)),
            (.widgets, aps(#""content-changed":true"#)),
        ] as [(PushType, String)])
    func `Everyday payloads pass the quick check`(_ type: PushType, _ payload: String) {
        #expect(Self.isClean(Array(payload.utf8), Self.options(type)))
    }

    /// Members of which random payloads are composed.
    static let members = [
        #""alert":"a""#, #""alert":{"title":"T","body":"B"}"#, #""alert":{"loc-args":["a"]}"#, #""alert":7"#,
        #""alert":{"title":"T","title":"U"}"#, #""alert":{"loc-key":"K","loc-args":["a",1]}"#,
        #""alert":{"title":{"loc-key":"K"}}"#, #""badge":1"#, #""badge":-0"#, #""badge":1.5"#, #""badge":"1""#,
        #""sound":"s""#, #""sound":{"name":"s","critical":1}"#, #""content-available":1"#, #""content-available":1.0"#,
        #""content-available":0"#, #""mutable-content":1"#, #""mutable-content":2"#, #""thread-id":"t""#,
        #""thread-id":null"#, #""interruption-level":"active""#, #""interruption-level":"urgent""#,
        #""relevance-score":0.5"#, #""relevance-score":1e9"#, #""relevance-score":0.5e9"#, #""relevance-score":1"#,
        #""content-changed":true"#, #""content-changed":false"#, #""event":"update""#, #""event":"end""#,
        #""event":"start""#, #""event":"stop""#, #""timestamp":5"#, #""timestamp":1767225600000"#,
        #""content-state":{}"#, #""content-state":[]"#, #""stale-date":4"#, #""stale-date":6"#, #""dismissal-date":7"#,
        #""attributes":{}"#, #""url-args":["a"]"#, #""url-args":[1]"#, #""titel":1"#, #""\u0061lert":"a""#,
        #""filter-criteria":"f""#, #""target-content-id":"w""#, #""category":"c""#,
    ]

    @Test func `A payload that passes the quick check has no findings`() {
        var random = SeededRandom(seed: 2026)
        var passed = 0
        for round in 0..<RunKind.rounds(40_000) {
            let type = PushType.allCases[round % PushType.allCases.count]
            func some(_ most: Int) -> String {
                (0..<Int.random(in: 0...most, using: &random))
                    .map { _ in Self.members.randomElement(using: &random)! }.joined(separator: ",")
            }
            let beside = Int.random(in: 0..<3, using: &random) == 0 ? some(2) : ""
            let parts = [round % 7 == 0 ? "" : #""aps":{\#(some(5))}"#, beside].filter { !$0.isEmpty }
            var payload = Array("{\(parts.joined(separator: ","))}".utf8)
            if round % 5 == 0 { payload = random.mutate(payload, chance: 1) }
            let options = Self.options(type, expiration: [nil, 0, 1_767_225_600_000][round % 3])
            guard Self.isClean(payload, options) else { continue }
            passed += 1
            let findings = PayloadRules.findings(in: payload, for: options).filter { $0.code != .repeatedKey }
            #expect(findings.isEmpty, "\(type) \(String(decoding: payload, as: UTF8.self))")
        }
        // If too few pass, the examples are no longer meaningful.
        #expect(passed > RunKind.rounds(500))
    }
}
