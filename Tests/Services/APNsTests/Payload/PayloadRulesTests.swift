import PushModel
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import APNs

@Suite struct PayloadRulesTests {
    typealias Code = PayloadFinding.Code
    typealias Severity = PayloadFinding.Severity

    /// An expected finding, with the payload and options that cause it.
    struct Case: Sendable, CustomTestStringConvertible {
        var json: String
        var options: PushOptions
        var severity: Severity
        var code: Code
        var path: String
        var advice: String?
        var testDescription: String { "\(options.pushType) \(code) \(path) \(json.prefix(60))" }

        init(
            _ json: String, _ severity: Severity, _ code: Code, _ path: String,
            _ options: PushOptions = PayloadTests.options(.alert), advice: String? = nil
        ) {
            (self.json, self.options) = (json, options)
            (self.severity, self.code, self.path, self.advice) = (severity, code, path, advice)
        }
    }

    static let good = #"{"aps":{"alert":"Hi"}}"#
    static let wakes = #"{"aps":{"content-available":1}}"#
    static let update = #""event":"update","timestamp":1,"content-state":{}"#
    static let start =
        #""event":"start","timestamp":1,"content-state":{},"attributes-type":"T","attributes":{},"alert":{"title":"a"}"#
    static let activity = PayloadTests.options(.liveactivity)
    static let background = PayloadTests.options(.background, priority: 5)

    static func aps(_ members: String) -> String { #"{"aps":{\#(members)}}"# }
    static func alert(_ members: String) -> String { aps(#""alert":{\#(members)}"#) }

    static let whole: [Case] = [
        Case("", .refused, .empty, ""), Case(good + String(repeating: " ", count: 4075), .refused, .tooLarge, ""),
        Case(
            "{\"x\":\"\(String(repeating: "x", count: 5113))\"}", .refused, .tooLarge, "", PayloadTests.options(.voip)),
        Case(aps(update) + String(repeating: " ", count: 5120), .refused, .tooLarge, "", PayloadTests.broadcast),
        Case("{\"aps\":{\n\"alert\":'Hi'}}", .refused, .notJSON, ""), Case("[]", .refused, .notObject, ""),
        Case(#"{"aps":{"alert":"Hi"},"a":1,"a":2}"#, .risky, .repeatedKey, "a"),
        Case(aps(#""alert":"a","alert":"b""#), .risky, .repeatedKey, "aps.alert"),
        Case(#"{"aps":{"alert":"Hi"},"x":[1,{"b":[{"c":1,"c":2}]}]}"#, .risky, .repeatedKey, "x[1].b[0].c"),
        Case("{}", .ignored, .noAps, ""),
        Case(#"{"APS":{"alert":"Hi"}}"#, .ignored, .noAps, "", advice: "write aps instead of APS"),
        Case(#"{"aps":"Hi"}"#, .ignored, .apsNotObject, "aps"),
        Case(#"{"aps":{"alert":"Hi"},"sound":"default"}"#, .risky, .keyOutsideAps, "sound"),
    ]

    static let keys: [Case] = [
        Case(aps(#""alert":"Hi","bagde":1"#), .ignored, .misspeltKey, "aps.bagde", advice: "did you mean badge?"),
        Case(
            aps(#""alert":"Hi","contentAvailable":1"#), .ignored, .misspeltKey, "aps.contentAvailable",
            advice: "did you mean content-available?"),
        Case(
            aps(#""alert":"Hi","mutable_content":1"#), .ignored, .misspeltKey, "aps.mutable_content",
            advice: "did you mean mutable-content?"),
        Case(aps(#""alert":"Hi","order":4711"#), .ignored, .customInsideAps, "aps.order"),
        Case(alert(#""title":"a","colour":"red""#), .ignored, .unknownKey, "aps.alert.colour"),
        Case(alert(#""titel":"a""#), .ignored, .misspeltKey, "aps.alert.titel", advice: "did you mean title?"),
        Case(alert(#""body":"a","action-loc-key":"a""#), .ignored, .legacyKey, "aps.alert.action-loc-key"),
        Case(alert(#""body":"a","summary-arg-count":1"#), .ignored, .legacyKey, "aps.alert.summary-arg-count"),
        Case(aps(#""alert":7"#), .ignored, .wrongType, "aps.alert"),
        Case(aps(#""badge":"1""#), .ignored, .wrongType, "aps.badge"),
        Case(aps(#""badge":-1"#), .ignored, .outOfRange, "aps.badge"),
        Case(aps(#""badge":1.5"#), .ignored, .outOfRange, "aps.badge"),
        Case(aps(#""badge":99999999999999999999"#), .ignored, .outOfRange, "aps.badge"),
        Case(aps(#""sound":true"#), .ignored, .wrongType, "aps.sound"),
        Case(aps(#""sound":{"critical":1,"volume":1}"#), .ignored, .criticalWithoutSound, "aps.sound.name"),
        Case(aps(#""sound":{"name":"a","critical":2}"#), .ignored, .outOfRange, "aps.sound.critical"),
        Case(aps(#""sound":{"name":"a","volume":1.1}"#), .ignored, .outOfRange, "aps.sound.volume"),
        Case(aps(#""sound":{"name":"a","volume":"1"}"#), .ignored, .wrongType, "aps.sound.volume"),
        Case(aps(#""sound":{"name":"a","volme":1}"#), .ignored, .misspeltKey, "aps.sound.volme"),
        Case(aps(#""alert":"a","thread-id":7"#), .ignored, .wrongType, "aps.thread-id"),
        Case(aps(#""alert":"a","category":null"#), .ignored, .wrongType, "aps.category"),
        Case(aps(#""alert":"a","content-available":true"#), .ignored, .wrongType, "aps.content-available"),
        Case(aps(#""alert":"a","content-available":0"#), .ignored, .outOfRange, "aps.content-available"),
        Case(aps(#""alert":"a","mutable-content":2"#), .ignored, .outOfRange, "aps.mutable-content"),
        Case(aps(#""alert":"a","target-content-id":[]"#), .ignored, .wrongType, "aps.target-content-id"),
        Case(
            aps(#""alert":"a","interruption-level":"timeSensitive""#), .ignored, .unknownWord,
            "aps.interruption-level", advice: "did you mean time-sensitive?"),
        Case(
            aps(#""alert":"a","interruption-level":"urgent""#), .ignored, .unknownWord, "aps.interruption-level",
            advice: "use one of these"),
        Case(aps(#""alert":"a","interruption-level":1"#), .ignored, .wrongType, "aps.interruption-level"),
        Case(aps(#""alert":"a","relevance-score":1.01"#), .ignored, .outOfRange, "aps.relevance-score"),
        Case(aps(#""alert":"a","relevance-score":"1""#), .ignored, .wrongType, "aps.relevance-score"),
        Case(aps(#""alert":"a","filter-criteria":{}"#), .ignored, .wrongType, "aps.filter-criteria"),
        Case(aps(#""alert":"a","url-args":"x""#), .ignored, .wrongType, "aps.url-args"),
        Case(aps(#""alert":"a","url-args":["x",1]"#), .ignored, .wrongType, "aps.url-args"),
        Case(alert(#""loc-key":"K","loc-args":[1]"#), .ignored, .wrongType, "aps.alert.loc-args"),
        Case(alert(#""body":"a","loc-args":["b"]"#), .ignored, .argumentsWithoutKey, "aps.alert.loc-args"),
        Case(alert(#""body":"a","title-loc-args":["b"]"#), .ignored, .argumentsWithoutKey, "aps.alert.title-loc-args"),
        Case(
            alert(#""body":"a","subtitle-loc-args":[]"#), .ignored, .argumentsWithoutKey, "aps.alert.subtitle-loc-args"),
        Case(alert(#""body":{"loc-key":"K"}"#), .ignored, .wrongType, "aps.alert.body"),
    ]

    static let types: [Case] = [
        Case(aps(""), .ignored, .nothingToShow, "aps"), Case(wakes, .risky, .onlyForBackground, "aps"),
        Case(aps(#""badge":1,"mutable-content":1"#), .ignored, .mutableWithoutAlert, "aps.mutable-content"),
        Case(aps(#""alert":"a","content-changed":true"#), .ignored, .keyOfAnotherType, "aps.content-changed"),
        Case(aps(#""alert":"a","event":"update""#), .ignored, .keyOfAnotherType, "aps.event"),
        Case(aps(""), .ignored, .notContentAvailable, "aps.content-available", background),
        Case(aps(#""content-available":1,"alert":"a""#), .ignored, .visibleInBackground, "aps.alert", background),
        Case(aps(#""content-available":1,"badge":1"#), .ignored, .visibleInBackground, "aps.badge", background),
        Case(aps(#""content-available":1,"sound":"""#), .ignored, .visibleInBackground, "aps.sound", background),
        Case("{}", .ignored, .noAps, "", background),
        Case(aps(""), .ignored, .contentNotChanged, "aps.content-changed", PayloadTests.options(.widgets)),
        Case(
            aps(#""content-changed":false"#), .ignored, .contentNotChanged, "aps.content-changed",
            PayloadTests.options(.controls)),
        Case(
            aps(#""content-changed":1"#), .ignored, .wrongType, "aps.content-changed", PayloadTests.options(.controls)),
        Case("{}", .ignored, .noAps, "", PayloadTests.options(.accessory)),
        Case(
            aps(#""encryptedData":"e","sessionIdentifier":"s","keyID":"k""#), .ignored, .missingKey,
            "aps.messageIndex", PayloadTests.options(.accessory)),
        Case(
            aps(#""encryptedData":"e","sessionIdentifier":"s","keyID":"k","messageIndex":7"#), .ignored, .wrongType,
            "aps.messageIndex", PayloadTests.options(.accessory)),
        Case(aps(#""alert":"a","keyID":"k""#), .ignored, .keyOfAnotherType, "aps.keyID"),
        Case("{}", .ignored, .missingKey, "mdm", PayloadTests.options(.mdm)),
        Case(#"{"mdm":7}"#, .ignored, .wrongType, "mdm", PayloadTests.options(.mdm)),
        Case(#"{"mdm":"M","aps":{}}"#, .ignored, .apsBesideMDM, "aps", PayloadTests.options(.mdm)),
        Case("{}", .ignored, .missingKey, "container-identifier", PayloadTests.options(.fileprovider)),
        Case(
            #"{"container-identifier":"c","domain":1}"#, .ignored, .wrongType, "domain",
            PayloadTests.options(.fileprovider)),
    ]

    static let activities: [Case] = [
        Case(aps(#""event":"update","content-state":{}"#), .ignored, .missingKey, "aps.timestamp", activity),
        Case(aps(#""timestamp":1,"content-state":{}"#), .ignored, .missingKey, "aps.event", activity),
        Case(aps(#""event":"end","timestamp":1"#), .ignored, .missingKey, "aps.content-state", activity),
        Case(
            aps(#""event":"stop","timestamp":1,"content-state":{}"#), .ignored, .unknownWord, "aps.event", activity),
        Case(
            aps(#""event":"update","timestamp":"1","content-state":{}"#), .ignored, .wrongType, "aps.timestamp",
            activity),
        Case(
            aps(#""event":"update","timestamp":-1,"content-state":{}"#), .ignored, .outOfRange, "aps.timestamp",
            activity),
        Case(
            aps(#""event":"update","timestamp":1767225600000,"content-state":{}"#), .risky, .milliseconds,
            "aps.timestamp", activity),
        Case(
            aps(#""event":"update","timestamp":1,"content-state":[]"#), .ignored, .wrongType, "aps.content-state",
            activity),
        Case(aps(update + #","stale-date":0"#), .risky, .staleTooEarly, "aps.stale-date", activity),
        Case(aps(update + #","dismissal-date":2"#), .ignored, .keyOfAnotherEvent, "aps.dismissal-date", activity),
        Case(aps(update + #","attributes":{}"#), .ignored, .keyOfAnotherEvent, "aps.attributes", activity),
        Case(aps(update + #","input-push-token":1"#), .ignored, .keyOfAnotherEvent, "aps.input-push-token", activity),
        Case(aps(update + #","sound":"a""#), .risky, .soundOutsideAlert, "aps.sound", activity),
        Case(aps(update + #","relevance-score":"a""#), .ignored, .wrongType, "aps.relevance-score", activity),
        Case(
            aps(update + #","alert":{"title":{"loc-args":["a"]}}"#), .ignored, .argumentsWithoutKey,
            "aps.alert.title.loc-args", activity),
        Case(aps(update + #","alert":{"subtitle":"a"}"#), .ignored, .unknownKey, "aps.alert.subtitle", activity),
        Case(
            aps(start.replacing(#""attributes-type":"T","#, "")), .ignored, .missingKey, "aps.attributes-type",
            activity),
        Case(aps(start.replacing(#""attributes":{},"#, "")), .ignored, .missingKey, "aps.attributes", activity),
        Case(aps(start.replacing(#","alert":{"title":"a"}"#, "")), .ignored, .missingKey, "aps.alert", activity),
        Case(
            aps(start.replacing(#""attributes":{}"#, #""attributes":[]"#)), .ignored, .wrongType, "aps.attributes",
            activity),
        Case(
            aps(start + #","input-push-token":1,"input-push-channel":"a""#), .risky, .twoInputs,
            "aps.input-push-channel", activity),
        Case(aps(start + #","input-push-token":true"#), .ignored, .wrongType, "aps.input-push-token", activity),
        Case(aps(start), .ignored, .broadcastStart, "aps.event", PayloadTests.broadcast),
    ]

    static func changed(
        _ type: PushType = .alert, _ change: (inout PushOptions) -> Void
    ) -> PushOptions {
        var options = PayloadTests.options(type, priority: type == .background ? 5 : 10)
        change(&options)
        return options
    }

    static let headers: [Case] = [
        Case(good, .refused, .badPriority, "priority", changed { $0.priority = 7 }),
        Case(good, .refused, .badPriority, "priority", changed { $0.priority = 300 }),
        Case(good, .refused, .badPriority, "priority", changed { $0.priority = -1 }),
        Case(wakes, .refused, .badPriority, "priority", changed(.background) { $0.priority = 10 }),
        Case(wakes, .risky, .badPriority, "priority", changed(.background) { $0.priority = nil }),
        Case(aps(""), .risky, .priorityOfAnotherType, "priority", changed(.location) { $0.priority = 1 }),
        Case(
            aps(""), .risky, .priorityOfAnotherType, "priority",
            PayloadTests.options(.pushtotalk, priority: 5, expiration: 0)),
        Case(aps(update), .risky, .priorityOfAnotherType, "priority", changed(.liveactivity) { $0.priority = 1 }),
        Case(
            good, .refused, .badCollapseID, "collapse_id", changed { $0.collapseID = String(repeating: "é", count: 33) }
        ),
        Case(good, .refused, .badCollapseID, "collapse_id", changed { $0.collapseID = "" }),
        Case(good, .refused, .badCollapseID, "collapse_id", changed { $0.collapseID = "a\r\nb" }),
        Case(good, .refused, .wrongTopic, "topic", changed { $0.topic = "com.example.shop.voip" }),
        Case("{}", .refused, .wrongTopic, "topic", changed(.voip) { $0.topic = "com.example.shop" }),
        Case(aps(""), .risky, .expirationStored, "expires_at", PayloadTests.options(.pushtotalk)),
        Case(
            aps(""), .risky, .expirationStored, "expires_at",
            PayloadTests.options(.pushtotalk, expiration: 1_767_225_601)),
        Case(good, .refused, .badExpiration, "expires_at", changed { $0.expiration = -1 }),
        Case(aps(update), .refused, .badExpiration, "expires_at", PushOptions(.broadcast)),
        Case(good, .risky, .milliseconds, "expires_at", changed { $0.expiration = 1_767_225_600_000 }),
        Case(good, .risky, .expirationPast, "expires_at", changed { $0.expiration = 1_767_225_600 }),
        Case(good, .ignored, .expirationTooLate, "expires_at", changed { $0.expiration = 1_767_225_601 + 30 * 86_400 }),
        Case(
            aps(update), .ignored, .expirationTooLate, "expires_at",
            PushOptions(.broadcast, expiration: 1_767_225_601 + 8 * 3600, now: PayloadTests.now)),
    ]

    static let cases = whole + keys + types + activities + headers

    @Test(arguments: cases) func `Each problem gives exactly the expected finding`(example: Case) throws {
        let payload = Array(example.json.utf8)
        let findings = PayloadRules.findings(in: payload, for: example.options)
        #expect(findings.count == 1, "\(findings)")
        let finding = try #require(findings.first)
        #expect(finding.severity == example.severity)
        #expect(finding.code == example.code)
        #expect(finding.path == example.path)
        #expect(finding.offset ?? 0 <= payload.count)
        #expect(!finding.problem.isEmpty && !finding.advice.isEmpty)
        if let advice = example.advice { #expect(finding.advice == advice) }
    }

    /// Each documented key with a valid value and a value of a wrong type.
    static let documented: [(key: String, right: String, wrong: String)] = [
        ("alert", #""a""#, "[]"), ("badge", "1", "null"), ("sound", #""a""#, "1"), ("thread-id", #""a""#, "1"),
        ("category", #""a""#, "1"), ("content-available", "1", #""1""#), ("mutable-content", "1", "true"),
        ("target-content-id", #""a""#, "1"), ("interruption-level", #""passive""#, "{}"),
        ("relevance-score", "0.5", "true"), ("filter-criteria", #""a""#, "1"), ("content-changed", "true", "1"),
        ("url-args", "[]", "{}"), ("event", #""update""#, "1"), ("content-state", "{}", "1"), ("timestamp", "1", "{}"),
        ("stale-date", "1", "{}"), ("dismissal-date", "1", #""1""#), ("attributes-type", #""T""#, "{}"),
        ("attributes", "{}", #""T""#), ("input-push-token", "1", "true"), ("input-push-channel", #""AA==""#, "1"),
    ]
    static let activityKeys: Set = [
        "event", "content-state", "timestamp", "stale-date", "dismissal-date", "attributes-type", "attributes",
        "input-push-token", "input-push-channel",
    ]

    @Test(arguments: documented) func `Every documented key is known with its type`(
        key: String, right: String, wrong: String
    ) {
        let codes = { (value: String, options: PushOptions) in
            PayloadRules.findings(in: Array(Self.aps("\"\(key)\":\(value)").utf8), for: options)
                .filter { $0.path == "aps.\(key)" }.map(\.code)
        }
        let foreign: [Code] = Self.activityKeys.contains(key) || key == "content-changed" ? [.keyOfAnotherType] : []
        // The push type voip has no further rules for these keys.
        #expect(codes(right, PayloadTests.options(.voip)) == foreign)
        #expect(codes(wrong, PayloadTests.options(.voip)) == [.wrongType] + foreign)
    }

    @Test func `Every code of a finding has a test`() {
        #expect(Set(Self.cases.map(\.code)) == Set(Code.allCases))
    }

    static let fine: [(String, PushOptions)] = [
        (good + String(repeating: " ", count: 4074), PayloadTests.options(.alert)),
        ("{\"x\":\"\(String(repeating: "x", count: 5112))\"}", PayloadTests.options(.voip)),
        (good, PushOptions(.device(.alert))), (good, changed { $0.collapseID = String(repeating: "é", count: 32) }),
        (good, changed { $0.expiration = 1_767_225_600 + 30 * 86_400 }),
        (good, changed { ($0.expiration, $0.now) = (1, nil) }),
        (
            #"{"aps":{"alert":"Hi","sound":"a"},"sound":"mine","badge-of-mine":{"titel":1}}"#,
            PayloadTests.options(.alert)
        ),
        (aps(update + #","relevance-score":100.5"#), activity), (aps(update + #","alert":"short""#), activity),
        (aps(#""alert":"Hi","mutable-content":0"#), PayloadTests.options(.alert)),
    ]

    @Test(arguments: fine) func `A correct payload has no findings`(json: String, options: PushOptions) {
        #expect(PayloadRules.findings(in: Array(json.utf8), for: options).map(\.description) == [])
    }

    @Test func `The description of a finding contains its path, problem and advice`() throws {
        let findings = PayloadRules.findings(
            in: Array("{\"aps\":{\n\"alert\":'Hi'}}".utf8), for: PayloadTests.options(.alert))
        #expect(findings.first?.description.hasPrefix("refused: it is not JSON: line 2, column 9: a value was") == true)
        let key = PayloadRules.findings(
            in: Array(Self.aps(#""alert":"a","bagde":1"#).utf8), for: PayloadTests.options(.alert))
        #expect(key.first?.description == "ignored: aps.bagde: there is no such key; did you mean badge?")
        #expect(key.first?.offset == 20)
    }

    @Test func `Findings contain no values and no long names`() {
        let name = String(repeating: "k", count: 2000)
        let json = Self.aps(#""alert":"a","\#(name)":"secret-1","category":{"x":"secret-2"}"#)
        let text = PayloadRules.findings(in: Array(json.utf8), for: PayloadTests.options(.alert)).map(\.description)
            .joined()
        #expect(!text.contains("secret") && !text.contains(name))
    }

    @Test func `The number of findings is limited`() {
        let members = (0..<300).map { "\"x\($0)\":1" }.joined(separator: ",")
        #expect(
            PayloadRules.findings(in: Array(Self.aps(members).utf8), for: PayloadTests.options(.alert)).count == 100)
    }

    @Test func `Options are created from a message`() throws {
        let message = Message(
            id: MessageID("m")!, app: AppID("shop")!, type: MessageType(.background), expiry: Expiry(expiresAt: 5),
            collapseID: CollapseID("c"),
            payload: Array(Self.wakes.utf8))
        let options = PushOptions(message, topic: Topic(PayloadTests.shop, for: .background))
        #expect(options.priority == 5 && options.expiration == 5 && options.collapseID == "c")
        #expect(options.topic == "com.example.shop" && options.target == .device(.background))
        #expect(PayloadRules.findings(in: message.payload, for: options).isEmpty)
    }

    @Test func `A mutated payload is refused exactly if it is not an object or is too large`() {
        let payloads = PayloadTests.examples.map { (Array($0.json.utf8), $0.options) }
        var random = SeededRandom(seed: 11)
        for round in 0..<RunKind.rounds(20_000) {
            let (bytes, options) = payloads[round % payloads.count]
            let payload = random.mutate(bytes, chance: 1)
            let isRefused = PayloadRules.findings(in: payload, for: options).contains { $0.severity == .refused }
            let isAcceptable = payload.count <= options.payloadLimit && JSONDocument.isObject(payload)
            #expect(isAcceptable != isRefused)
        }
    }
}

extension String {
    fileprivate func replacing(_ part: String, _ other: String) -> String {
        let bytes = Array(utf8)
        let wanted = Array(part.utf8)
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: wanted) }) else { return self }
        return String(decoding: bytes[..<start] + Array(other.utf8) + bytes[(start + wanted.count)...], as: UTF8.self)
    }
}
