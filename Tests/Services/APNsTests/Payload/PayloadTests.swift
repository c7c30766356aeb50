import PushModel
import PushTime
import PushWire
import Testing

@testable import APNs

@Suite struct PayloadTests {
    struct Example: Sendable, CustomTestStringConvertible {
        var name: String
        /// The same, as the command line builds it; nil for keys that it has no options for.
        var payload: Payload?
        var options: PushOptions
        var json: String
        var testDescription: String { name }
    }

    static let now = WallTime(milliseconds: 1_767_225_600_000)
    static let shop = BundleID("com.example.shop")!

    static func options(
        _ type: PushType, priority: Int = 10, expiration: Int64? = nil, collapseID: String? = nil
    ) -> PushOptions {
        PushOptions(
            .device(type), priority: priority, expiration: expiration, collapseID: collapseID,
            topic: Topic(shop, for: type).text, now: now)
    }

    static let broadcast = PushOptions(.broadcast, priority: 10, expiration: 1_767_229_200, now: now)

    static var everything: Aps {
        var aps = Aps(
            alert: Alert(title: "Order 4711", subtitle: "Shop", body: "It is \"shipped\"\n"), badge: 0,
            sound: "bell.caf")
        aps.threadID = "orders"
        aps.category = "SHIPPED"
        aps.isContentAvailable = true
        aps.isMutable = true
        return aps
    }

    static let startAlert =
        #""alert":{"body":"Now","sound":"whistle.caf","title":{"loc-args":["A"],"loc-key":"KICKOFF"}}"#

    static let examples: [Example] = [
        Example(
            name: "alert", payload: Payload(aps: Aps(alert: Alert(body: "Hello"), badge: 3, sound: "default")),
            options: options(.alert, expiration: 0, collapseID: "order-4711"),
            json: #"{"aps":{"alert":{"body":"Hello"},"badge":3,"sound":"default"}}"#),
        Example(
            name: "alert with everything that is built",
            payload: Payload(aps: everything, custom: CustomKeys(["order": 4711, "links": ["a", nil, 1.5]])!),
            options: options(.alert, priority: 5, expiration: 1_767_229_200),
            json: #"{"aps":{"alert":{"body":"It is \"shipped\"\n","subtitle":"Shop","title":"Order 4711"},"badge":0,"#
                + #""sound":"bell.caf","thread-id":"orders","category":"SHIPPED","content-available":1,"#
                + #""mutable-content":1},"links":["a",null,1.5],"order":4711}"#),
        Example(
            name: "alert with the other keys", options: options(.alert, priority: 5, expiration: 1_767_229_200),
            json: #"{"aps":{"alert":{"launch-image":"launch.png","loc-args":["a","b"],"loc-key":"BODY","#
                + #""subtitle-loc-key":"SUBTITLE","title-loc-args":["4711"],"title-loc-key":"TITLE"},"#
                + #""sound":{"critical":1,"name":"bell.caf","volume":0.5},"target-content-id":"window-1","#
                + #""interruption-level":"time-sensitive","relevance-score":0.75,"filter-criteria":"work","#
                + #""url-args":["4711"]}}"#),
        Example(
            name: "background", payload: Payload(aps: .background, custom: CustomKeys(["sync": true])!),
            options: options(.background, priority: 5), json: #"{"aps":{"content-available":1},"sync":true}"#),
        Example(name: "voip", options: options(.voip), json: #"{"call":"c-1"}"#),
        Example(
            name: "complication", payload: Payload(aps: Aps()), options: options(.complication), json: #"{"aps":{}}"#),
        Example(
            name: "fileprovider", options: options(.fileprovider),
            json: #"{"container-identifier":"NSFileProviderRootContainerItemIdentifier","domain":"d"}"#),
        Example(name: "mdm", options: options(.mdm), json: #"{"mdm":"A1B2"}"#),
        Example(name: "location", payload: Payload(aps: Aps()), options: options(.location), json: #"{"aps":{}}"#),
        Example(
            name: "liveactivity start", options: options(.liveactivity),
            json: "{\"aps\":{\(startAlert),"
                + #""event":"start","timestamp":1767225600,"content-state":{"score":[0,0]},"stale-date":1767229200,"#
                + #""attributes-type":"Match","attributes":{"home":"A"},"input-push-token":1}}"#),
        Example(
            name: "liveactivity start by channel", options: options(.liveactivity),
            json: "{\"aps\":{\(startAlert),"
                + #""event":"start","timestamp":1,"content-state":{},"attributes-type":"M","attributes":{},"#
                + #""input-push-channel":"dHN0LQ=="}}"#),
        Example(
            name: "liveactivity update", options: options(.liveactivity, priority: 5),
            json: #"{"aps":{"event":"update","timestamp":2,"content-state":{"s":1}}}"#),
        Example(
            name: "broadcast end", options: broadcast,
            json: #"{"aps":{"event":"end","timestamp":3,"content-state":{},"dismissal-date":9}}"#),
        Example(
            name: "pushtotalk", payload: Payload(aps: Aps(), custom: CustomKeys(["speaker": "B"])!),
            options: options(.pushtotalk, expiration: 0), json: #"{"aps":{},"speaker":"B"}"#),
        Example(name: "widgets", options: options(.widgets), json: #"{"aps":{"content-changed":true}}"#),
        Example(name: "controls", options: options(.controls), json: #"{"aps":{"content-changed":true}}"#),
        Example(name: "accessory", options: options(.accessory), json: accessoryJSON),
    ]

    static let accessoryJSON =
        #"{"aps":{"encryptedData":"e","sessionIdentifier":"s","keyID":"k","messageIndex":"7"}}"#

    @Test(arguments: examples) func `A payload has the documented form and no findings`(
        example: Example
    ) throws {
        let bytes = Array(example.json.utf8)
        if let payload = example.payload {
            #expect(String(decoding: payload.encoded(), as: UTF8.self) == example.json)
        }
        #expect(PayloadRules.findings(in: bytes, for: example.options).map(\.description) == [])
        _ = try JSONDocument(bytes)
    }

    @Test func `Every push type has an example`() {
        #expect(Set(Self.examples.map(\.options.pushType)) == Set(PushType.allCases))
    }

    @Test func `Reserved names are rejected as custom keys`() {
        for name in CustomKeys.reserved { #expect(CustomKeys([name: 1]) == nil) }
        #expect(CustomKeys(["Aps": 1]) != nil)
    }

    @Test func `Equal payloads give equal bytes`() {
        let names = (0..<50).map { "key\($0)" }
        let one = Dictionary(uniqueKeysWithValues: names.map { ($0, JSONValue.string($0)) })
        var other: [String: JSONValue] = [:]
        other.reserveCapacity(1000)
        for name in names.reversed() { other[name] = .string(name) }
        let payloads = [one, other].map { Payload(aps: Aps(), custom: CustomKeys($0)!).encoded() }
        #expect(payloads[0] == payloads[1])
    }

    @Test func `A topic is the bundle id with the suffix of the push type`() {
        let expected: [PushType: String] = [
            .alert: "", .background: "", .voip: ".voip", .complication: ".complication",
            .fileprovider: ".pushkit.fileprovider", .mdm: "", .location: ".location-query",
            .liveactivity: ".push-type.liveactivity", .pushtotalk: ".voip-ptt", .widgets: ".push-type.widgets",
            .controls: ".push-type.controls", .accessory: ".push-type.accessory",
        ]
        #expect(Set(expected.keys) == Set(PushType.allCases))
        for (type, suffix) in expected {
            let topic = Topic(Self.shop, for: type).text
            #expect(topic == "com.example.shop" + suffix)
            #expect(Topic.isValid(topic, for: type))
            #expect(Topic.isValid("com.example.shop", for: type) == suffix.isEmpty)
            #expect(!Topic.isValid(suffix, for: type))
        }
        #expect(!Topic.isValid("com.example.shop.voip", for: .alert))
        #expect(!Topic.isValid("com.example.shop.voip-ptt", for: .voip))
        #expect(Topic.isValid("com.apple.mgmt.External.voip", for: .mdm))
    }

    @Test(arguments: [
        ("com.example.shop", true), ("a_b-C.9", true), ("", false), ("a/b", false), ("a b", false), ("é", false),
        ("a\r\nb", false), (String(repeating: "a", count: 155), true), (String(repeating: "a", count: 156), false),
    ]) func `A bundle id consists of letters, digits, dots, hyphens and underscores`(text: String, isOne: Bool) {
        #expect((BundleID(text) != nil) == isOne)
    }
}
