import PushWire
import TestSupport
import Testing

@testable import CarillonClient

@Suite struct EncodingTests {
    private func text(_ push: Push) throws -> String {
        String(decoding: try EncodedRequest(push).envelope, as: UTF8.self)
    }

    @Test func `A push is one JSON object with the keys of the protocol`() throws {
        var push = Push(
            id: "order-\"1\"\n", app: "shop", to: .tags("beta" && !"quiet"), alert: Alert(title: "A", body: "B\u{1}\\"),
            sound: .critical(volume: 0.5), badge: 3, custom: ["b": [1, 2.5, nil, true], "a": ["x": "y"]])
        push.priority = .normal
        push.expiresAt = 4_102_444_800
        push.notBefore = 1_767_220_000
        push.collapseID = "c"
        push.onUnknown = .drop
        push.again = true
        push.traceparent = "00-1"
        #expect(
            try text(push)
                == #"{"id":"order-\"1\"\n","app":"shop","to":{"tags":{"all":["beta",{"not":"quiet"}]}},"priority":5,"#
                + #""expires_at":4102444800,"not_before":1767220000,"collapse_id":"c","on_unknown":"drop","again":true,"#
                + #""traceparent":"00-1","payload":{"aps":{"alert":{"title":"A","body":"B\u0001\\"},"badge":3,"#
                + #""sound":{"critical":1,"name":"default","volume":0.5}},"a":{"x":"y"},"b":[1,2.5,null,true]}}"#)
    }

    @Test func `Content for any push service is in the plain fields of the envelope`() throws {
        let content = PlainNotification(
            alert: Alert(title: "A", body: "B"), sound: "bell.caf", badge: 0, image: "https://a.example/b.png",
            link: "shop:orders/4711", category: "ORDER", thread: "orders", custom: ["order": 4711])
        #expect(
            try text(Push(id: "a", app: "shop", to: .all, plain: content))
                == #"{"id":"a","app":"shop","to":{"all":true},"alert":{"title":"A","body":"B"},"badge":0,"#
                + #""sound":"bell.caf","custom":{"order":4711},"image":"https://a.example/b.png","#
                + #""link":"shop:orders/4711","category":"ORDER","thread":"orders"}"#)
        #expect(
            try text(Push(id: "a", app: "shop", to: .all, plain: PlainNotification(alert: "B")))
                == #"{"id":"a","app":"shop","to":{"all":true},"alert":"B"}"#)
    }

    @Test func `A time on the clock of each device is in the envelope, with what goes with it`() throws {
        var push = Push(id: "a", app: "shop", to: .all, alert: "B")
        push.atLocal = DeviceTime("2026-12-01T09:00")
        let end = #""payload":{"aps":{"alert":"B"}}}"#
        #expect(try text(push) == #"{"id":"a","app":"shop","to":{"all":true},"at_local":"2026-12-01T09:00","# + end)
        push.atLocal = DeviceTime("2026-12-01T09:00:30", timeZone: "Europe/Berlin", dropsLate: true)
        #expect(
            try text(push)
                == #"{"id":"a","app":"shop","to":{"all":true},"at_local":"2026-12-01T09:00:30","#
                + #""time_zone":"Europe/Berlin","late":"drop","# + end)
    }

    @Test func `Words by locale and values by user are in the envelope, in one order`() throws {
        var content = PlainNotification(alert: "not sent", thread: "t")
        content.localizedAlerts = ["en": "Hello {n}", "de-CH": Alert(title: "T", body: "Hoi {n}")]
        content.defaultLocale = "en"
        content.values = ["bob": ["n": "2\""], "ada": ["n": "1", "m": "x"]]
        #expect(
            try text(Push(id: "a", app: "shop", to: .users(["ada", "bob"]), plain: content))
                == #"{"id":"a","app":"shop","to":{"users":["ada","bob"]},"alert":{"locales":{"de-CH":{"title":"T","#
                + #""body":"Hoi {n}"},"en":"Hello {n}"},"default":"en"},"thread":"t","#
                + #""values":{"ada":{"m":"x","n":"1"},"bob":{"n":"2\""}}}"#)
    }

    @Test func `A Live Activity is started, updated and ended`() throws {
        let start = LiveActivity(
            .start(type: "Delivery", attributes: ["name": "order-1"], input: .token), state: ["eta": 9], title: "A",
            body: "B")
        #expect(
            try text(Push(id: "a", app: "shop", to: .user("ada"), start))
                == #"{"id":"a","app":"shop","to":{"users":["ada"]},"live_activity":{"event":"start","type":"Delivery","#
                + #""attributes":{"name":"order-1"},"input_push":"token","content_state":{"eta":9},"#
                + #""alert":{"title":"A","body":"B"}}}"#)
        var update = LiveActivity.update(state: ["eta": 5])
        (update.staleAt, update.relevance) = (1_767_000_600, 0.5)
        #expect(
            try text(Push(id: "b", app: "shop", to: .activities(["order-1"]), update))
                == #"{"id":"b","app":"shop","to":{"activities":["order-1"]},"live_activity":{"event":"update","#
                + #""content_state":{"eta":5},"stale_at":1767000600,"relevance":0.5}}"#)
        #expect(
            try text(Push(id: "c", app: "shop", to: .activities(["order-1"]), .end(state: [:], dismissAt: 1)))
                == #"{"id":"c","app":"shop","to":{"activities":["order-1"]},"live_activity":{"event":"end","#
                + #""dismiss_at":1,"content_state":{}}}"#)
    }

    @Test func `A payload that is not one JSON object is a frame of its own and cannot change the envelope`() throws {
        for payload in ["{}, \"to\": {\"all\":true}", "[]", "{", "{}\n", "", "{\"a\":1}}"] {
            let request = try EncodedRequest(
                Push(id: "a", app: "shop", to: .all, payload: Array(payload.utf8)))
            #expect(request.payload == Array(payload.utf8) && !request.isLine)
            #expect(String(decoding: request.envelope, as: UTF8.self) == #"{"id":"a","app":"shop","to":{"all":true}}"#)
        }
        let inside = try EncodedRequest(Push(id: "a", app: "s", to: .all, payload: Array(#"{"aps":{}}"#.utf8)))
        #expect(inside.payload == nil && inside.isLine)
    }

    @Test func `A push to a family has its order and its payloads`() throws {
        var push = Push(
            id: "a", app: "all", to: .user("ada"),
            payloads: [.fcm: .json(Array("{}".utf8)), .apns: .json(Array(#"{"aps":{}}"#.utf8))])
        push.prefer = ["ios", "web"]
        let text = String(decoding: try EncodedRequest(push).envelope, as: UTF8.self)
        #expect(
            text
                == #"{"id":"a","app":"all","to":{"users":["ada"]},"prefer":["ios","web"],"payloads":{"apns":{"aps":{}},"fcm":{}}}"#
        )
        push.prefer = []
        push.content = .payloads(
            [.webPush: .json(Array("{}".utf8)), .apns: .notification(Notification(badge: 3))],
            others: PlainNotification(alert: "Hi"))
        #expect(
            String(decoding: try EncodedRequest(push).envelope, as: UTF8.self)
                == #"{"id":"a","app":"all","to":{"users":["ada"]},"alert":"Hi","#
                + #""payloads":{"apns":{"aps":{"badge":3}},"webpush":{}}}"#)
        push.content = .payloads([.fcm: .json(Array("{}}".utf8))])
        #expect(throws: PushRefusal.self) { try EncodedRequest(push) }
    }

    @Test func `An id that an ack could not name is refused before it is sent`() {
        for id in ["", String(repeating: "é", count: 65)] {
            #expect(throws: PushRefusal.self) { try EncodedRequest(Push(id: id, app: "shop", to: .all, alert: "x")) }
        }
    }

    @Test(arguments: [
        (#"{"id":"a","status":"accepted","seq":918273}"#, AckStatus.Verdict.accepted(918_273, [])),
        (#"{"id":"a","status":"duplicate","seq":1}"#, .duplicate(1, [])),
        (
            #"{"id":"a","status":"cancelled","sent":1,"cancelled":2,"apps":{"b":"cancelled","c":"too_late","d":"unknown_message"}}"#,
            .cancelled(sent: 1, cancelled: 2, apps: ["b": .cancelled, "c": .tooLate, "d": .unknown])
        ),
        (#"{ "seq": 1, "status": "duplicate", "id": "a", "more": {} }"#, .duplicate(1, [])),
        (#"{"id":"\u0061","status":"accepted","seq":9223372036854775807}"#, .accepted(.max, [])),
        (#"{"id":"a","status":"busy","retry_after_ms":250}"#, .busy(.milliseconds(250))),
        (#"{"id":"a","status":"busy","retry_after_ms":-5}"#, .busy(.milliseconds(1))),
        (#"{"id":"a","status":"busy","retry_after_ms":9000000000}"#, .busy(.seconds(60))),
        (#"{"id":"a","status":"cancelled","sent":1,"cancelled":2}"#, .cancelled(sent: 1, cancelled: 2)),
        (#"{"id":"a","status":"too_late"}"#, .tooLate),
        (
            #"{"id":"a","status":"rejected","reason":"new_word","detail":"x"}"#,
            .rejected(PushRefusal(.init(rawValue: "new_word"), detail: "x"))
        ),
        (
            #"{"id":"a","status":"accepted","seq":7,"findings":[{"code":"c","path":"p","detail":"d"}]}"#,
            .accepted(7, [PushFinding(code: "c", path: "p", detail: "d")])
        ),
        (
            #"{"id":"a","status":"accepted","seq":7,"apps":{"ios":"accepted","web":"duplicate"},"findings":[{"code":"c","path":"p","detail":"d","app":"ios"}]}"#,
            .accepted(
                7, [PushFinding(code: "c", path: "p", detail: "d", app: "ios")],
                apps: ["ios": .accepted, "web": .duplicate])
        ),
        (
            #"{"id":"a","status":"duplicate","seq":7,"apps":{"ios":"duplicate"}}"#,
            .duplicate(7, [], apps: ["ios": .duplicate])
        ),
    ])
    func `An ack is read`(_ text: String, _ verdict: AckStatus.Verdict) {
        let status = Array(text.utf8).withUnsafeBytes { AckStatus($0) }
        #expect(status == AckStatus(key: IDKey("a"), verdict: verdict))
    }

    @Test func `No prefix of an ack, and no garbage, is an ack`() {
        let whole = Array(#"{"id":"a","status":"accepted","seq":918273}"#.utf8)
        for end in whole.indices {
            #expect(Array(whole[..<end]).withUnsafeBytes { AckStatus($0) } == nil)
        }
        for text in ["", "{}", "null", "[1]", #"{"id":null,"status":"accepted","seq":1}"#, #"{"id":"a","status":"?"}"#]
        {
            #expect(Array(text.utf8).withUnsafeBytes { AckStatus($0) } == nil)
        }
    }
}
