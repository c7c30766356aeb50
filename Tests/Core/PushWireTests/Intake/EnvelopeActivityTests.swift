import APNs
import PushModel
import PushTime
import PushWire
import Testing

@Suite struct EnvelopeActivityTests {
    private typealias Examples = EnvelopeExamples

    private static let order = #"{"activities":["order-4711"]}"#
    private static let users = #"{"users":["ada"]}"#
    private static let start =
        #""event":"start","type":"Delivery","attributes":{"name":"order-4711"},"content_state":{"eta":5}"#
    private static let alert = #""alert":{"title":"On its way","body":"Soon","sound":"default"}"#

    private static func request(
        _ live: String, to: String = order, _ more: String = "", now: Int64 = 1_767_000_000
    ) throws -> PushRequest {
        let text = Examples.envelope(#""live_activity":{\#(live)}\#(more)"#, to: to)
        return try Examples.read(Array(text.utf8), frame: nil, now: UnixSeconds(now)).get()
    }

    private static func rejection(_ live: String, to: String = order, _ more: String = "") -> String? {
        Examples.rejection(Examples.envelope(#""live_activity":{\#(live)}\#(more)"#, to: to), frame: nil)
            .map { "\($0.reason.rawValue) \($0.detail)" }
    }

    private static func text(_ request: PushRequest) -> String {
        String(decoding: request.message.payload, as: UTF8.self)
    }

    @Test func `A start is rendered as Apple has it`() throws {
        let request = try Self.request(
            Self.start + "," + Self.alert + #","stale_at":1767000600,"relevance":50.5,"input_push":"token""#,
            to: Self.users)
        #expect(
            Self.text(request)
                == #"{"aps":{"timestamp":1767000000,"event":"start","attributes-type":"Delivery","#
                + #""attributes":{"name":"order-4711"},"input-push-token":1,"content-state":{"eta":5},"#
                + #""alert":{"body":"Soon","sound":"default","title":"On its way"},"stale-date":1767000600,"#
                + #""relevance-score":50.5}}"#)
        let message = request.message
        #expect(message.type == MessageType(.liveactivity) && message.kind == .pushToStart)
        #expect(message.priority == .ten)
        #expect(message.activity == ActivityPart(.start, type: "Delivery", isStamped: true))
        #expect(request.findings.isEmpty)
    }

    @Test func `An update and an end go to activities, and need no alert`() throws {
        let update = try Self.request(#""event":"update","content_state":{"eta":4}"#)
        #expect(update.audience == .activities(["order-4711"]))
        #expect(update.message.kind == .activity && update.message.priority == .five)
        #expect(update.message.activity == ActivityPart(.update, isStamped: true))
        let end = try Self.request(#""event":"end","content_state":{},"dismiss_at":1767000001"#)
        #expect(
            Self.text(end)
                == #"{"aps":{"timestamp":1767000000,"event":"end","content-state":{},"dismissal-date":1767000001}}"#)
        #expect(end.message.activity == ActivityPart(.end, isStamped: true))
        let loud = try Self.request(#""event":"update","content_state":{},"# + Self.alert)
        #expect(loud.message.priority == .ten)
        let channel = try Self.request(
            Self.start + "," + Self.alert + #","input_push":{"channel":"dGVzdA=="}"#, to: #"{"all":true}"#)
        #expect(Self.text(channel).contains(#""input-push-channel":"dGVzdA==""#))
    }

    @Test func `A payload of the producer's own keeps its bytes, and its activities their order`() throws {
        let frame = #"{"aps":{"event":"end","timestamp":1,"content-state":{}}}"#
        let request = try Examples.read(
            Examples.envelope(#""push_type":"liveactivity""#, to: Self.order), frame: frame
        ).get()
        #expect(Self.text(request) == frame)
        #expect(request.message.activity == ActivityPart(.end, isStamped: false))
    }

    @Test func `What is compared is what the producer gave, without the time`() throws {
        let identities = try #require(Identities(secret: (0..<32).map { UInt8($0) }))
        let update = #""event":"update","content_state":{"a":1,"b":2}"#
        let first = identities.content(of: try Self.request(update).message)
        let later = try Self.request(#""content_state":{"b":2, "a":1},"event":"update""#, now: 1_767_000_099)
        #expect(identities.content(of: later.message) == first)
        let other = try Self.request(#""event":"update","content_state":{"a":1,"b":3}"#)
        #expect(identities.content(of: other.message) != first)
    }

    private static let badMembers: [(String, String)] = [
        (#""content_state":{}"#, "bad_payload /live_activity/event: it is missing"),
        (#""event":"stop""#, "bad_payload /live_activity/event: it must be start, update or end"),
        (#""event":"update""#, "bad_payload /live_activity/content_state: it is missing"),
        (#""event":"update","content_state":[]"#, "bad_payload /live_activity/content_state: it is an array"),
        (
            #""event":"update","content_state":{},"attributes":{}"#,
            "bad_payload /live_activity/attributes: it does not belong to event update"
        ),
        (
            #""event":"update","content_state":{},"dismiss_at":1"#,
            "bad_payload /live_activity/dismiss_at: it does not belong to event update"
        ),
        (
            #""event":"end","content_state":{},"stale_at":-1"#,
            "bad_payload /live_activity/stale_at: it must be a whole number of seconds"
        ),
        (
            #""event":"end","content_state":{},"stale_at":99999999999999999999"#,
            "bad_payload /live_activity/stale_at: it must be a whole number of seconds"
        ),
        (
            #""event":"end","content_state":{},"relevance":"high""#,
            "bad_payload /live_activity/relevance: it must be a number"
        ),
        (
            #""event":"end","content_state":{},"dismis_at":1"#,
            "bad_payload /live_activity/dismis_at: there is no such member; did you mean dismiss_at?"
        ),
        (#""event":"end","event":"end""#, "bad_payload /live_activity/event: it is given twice"),
        (
            #""event":"end","content_state":{},"alert":{"tittle":"x"}"#,
            "bad_payload /live_activity/alert/tittle: an alert of a Live Activity"
        ),
        (
            #""event":"end","content_state":{},"alert":"x""#,
            "bad_payload /live_activity/alert: it is a string, not an object"
        ),
    ]

    @Test(arguments: badMembers)
    func `A bad member is refused by name`(_ live: String, _ expected: String) {
        #expect(Self.rejection(live)?.hasPrefix(expected) == true, "\(Self.rejection(live) ?? "accepted")")
    }

    private static let badStarts: [(String, String)] = [
        (start as String, "bad_payload /live_activity/alert: it is missing"),
        (
            #""event":"start","attributes":{},"content_state":{},"# + alert,
            "bad_payload /live_activity/type: it is missing"
        ),
        (
            #""event":"start","type":"","attributes":{},"content_state":{},"# + alert,
            "bad_payload /live_activity/type: it must be a text of 1 to 128 bytes"
        ),
        (
            #""event":"start","type":"T","content_state":{},"# + alert,
            "bad_payload /live_activity/attributes: it is missing"
        ),
        (start + "," + alert + #","input_push":"channel""#, "bad_payload /live_activity/input_push: it must be"),
        (
            start + "," + alert + #","input_push":{"channel":"a b"}"#,
            "bad_payload /live_activity/input_push: it must be"
        ),
    ]

    @Test(arguments: badStarts)
    func `A bad start is refused by name`(_ live: String, _ expected: String) {
        #expect(Self.rejection(live, to: Self.users)?.hasPrefix(expected) == true)
    }

    @Test func `An event goes only where it can have an effect`() {
        let update = #""event":"update","content_state":{}"#
        for to in [Self.users, #"{"tags":"vip"}"#, #"{"all":true}"#] {
            #expect(Self.rejection(update, to: to)?.hasPrefix("bad_audience an update goes to activities") == true)
        }
        #expect(Self.rejection(Self.start + "," + Self.alert)?.hasPrefix("bad_audience a start goes to users") == true)
        let alert = Examples.rejection(Examples.envelope(to: Self.order))
        #expect(alert?.reason == .badAudience)
        #expect(Self.rejection(update, #","not_before":1767000100"#)?.hasPrefix("bad_field not_before") == true)
        #expect(Self.rejection(update, #","alert":"x""#)?.hasPrefix("bad_field the payload is given twice") == true)
        #expect(Self.rejection(update, #","push_type":"alert""#)?.hasPrefix("bad_field push_type is alert") == true)
        #expect(Self.rejection(update, to: #"{"activities":[""]}"#)?.hasPrefix("bad_audience activity 1 of 1") == true)
        let many = (0..<1001).map { #""a\#($0)""# }.joined(separator: ",")
        #expect(
            Self.rejection(update, to: #"{"activities":[\#(many)]}"#)?.hasPrefix("too_many 1001 activities") == true)
        let long = #""event":"update","content_state":{"a":"\#(String(repeating: "x", count: 5000))"}"#
        #expect(Self.rejection(long)?.hasPrefix("payload_too_large") == true)
    }
}
