import PushModel
import PushWire
import Testing

@testable import WebPush

/// What plain fields become in browsers.
@Suite struct DeclarativeMessageTests {
    private func codec(title: String? = nil, navigate: String? = "https://shop.example/") throws -> WebPushCodec {
        var settings = WebPushSettings(vapid: "v", subject: "mailto:a@example.com")
        settings.title = title
        settings.navigate = navigate
        return WebPushCodec(app: try #require(AppID("shop-web")), settings: settings)
    }

    private func payload(
        _ fields: String, _ options: MessageOptions = MessageOptions(), with codec: WebPushCodec? = nil
    ) throws -> String {
        let codec = try codec ?? self.codec()
        let bytes = try codec.payload(fromFields: Array(fields.utf8), for: options)
        try codec.judge(bytes, for: options)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func fault(
        _ fields: String, _ options: MessageOptions = MessageOptions(), with codec: WebPushCodec? = nil
    ) throws -> String {
        do {
            return "taken: \(try payload(fields, options, with: codec))"
        } catch let error as Rejection {
            return error.detail
        }
    }

    @Test("Plain fields are rendered as a declarative message")
    func rendering() throws {
        #expect(
            try payload(#"{"alert":"Hello"}"#)
                == #"{"web_push":8030,"notification":{"title":"shop-web","body":"Hello","navigate":"https://shop.example/"}}"#
        )
        #expect(
            try payload(
                #"{"custom":{"b":[1,{"d":null}],"a":"ä"},"alert":{"body":"B","title":"T"},"badge":3,"link":"https://l.example/4711","image":"https://i.example/i.png"}"#,
                MessageOptions(collapseID: CollapseID("order \"4711\"")))
                == #"{"web_push":8030,"notification":{"title":"T","body":"B","navigate":"https://l.example/4711","#
                + #""tag":"order \"4711\"","app_badge":3,"image":"https://i.example/i.png","#
                + #""data":{"a":"ä","b":[1,{"d":null}]}},"app_badge":3}"#)
        #expect(
            try payload(#"{"alert":{"body":"B"}}"#, with: codec(title: "Shop"))
                == #"{"web_push":8030,"notification":{"title":"Shop","body":"B","navigate":"https://shop.example/"}}"#)
        #expect(
            try payload(#"{"alert":{"title":"T"}}"#)
                == #"{"web_push":8030,"notification":{"title":"T","navigate":"https://shop.example/"}}"#)
    }

    @Test("A background message has only the data of the app")
    func background() throws {
        let options = MessageOptions(type: .background)
        #expect(try payload(#"{"custom":{"sync":1}}"#, options) == #"{"data":{"sync":1}}"#)
        #expect(options.priority == .five)
        for field in [
            #""alert":"x""#, #""badge":1"#, #""image":"https://i.example/""#, #""link":"https://l.example/""#,
        ] {
            #expect(try fault("{\(field)}", options).contains("shows nothing"))
        }
    }

    @Test(
        "What browsers cannot show is refused by its name",
        arguments: [
            (#"{"alert":"x","sound":"ping"}"#, "sound"), (#"{"alert":"x","category":"c"}"#, "category"),
            (#"{"alert":"x","thread":"t"}"#, "thread"), (#"{"alert":{"title":"T","subtitle":"S"}}"#, "subtitle"),
            (#"{"badge":3}"#, "alert"), (#"{"alert":"x","badge":-1}"#, "badge"),
            (#"{"alert":"x","badge":2147483648}"#, "badge"), (#"{"alert":"x","link":"/orders/1"}"#, "link"),
            (#"{"alert":"x","link":"javascript:alert(1)"}"#, "link"), (#"{"alert":"x","link":"https://"}"#, "link"),
        ])
    func refusals(fields: String, name: String) throws {
        let detail = try fault(fields)
        #expect(detail.contains(name) && !detail.hasPrefix("taken"), "\(detail)")
    }

    @Test("A notification needs a page that a click opens")
    func navigate() throws {
        let codec = try codec(navigate: nil)
        #expect(try fault(#"{"alert":"x"}"#, with: codec).contains("webpush: link is missing"))
        #expect(try payload(#"{"alert":"x","link":"https://l.example/"}"#, with: codec).contains("https://l.example/"))
    }

    @Test("A message may have 3,993 bytes, plain or not")
    func limit() throws {
        let codec = try codec()
        let rest = try payload(#"{"alert":""}"#).utf8.count
        let text = { (count: Int) in #"{"alert":"\#(String(repeating: "x", count: count))"}"# }
        #expect(try payload(text(3993 - rest)).utf8.count == 3993)
        #expect(try fault(text(3994 - rest)).contains("3993"))
        let whole = { (count: Int) in [UInt8](repeating: UInt8(ascii: "1"), count: count) }
        #expect(try codec.judge(whole(3993), for: MessageOptions()).isEmpty)
        #expect(throws: Rejection.self) { try codec.judge(whole(3994), for: MessageOptions()) }
    }

    @Test("A payload is any JSON value, and no Live Activity")
    func payloads() throws {
        let codec = try codec()
        for text in [#"{"a":1}"#, "[1]", #""text""#, "null"] {
            #expect(try codec.judge(Array(text.utf8), for: MessageOptions()).isEmpty)
        }
        #expect(throws: Rejection.self) { try codec.judge(Array("{".utf8), for: MessageOptions()) }
        #expect(codec.activityType == nil && codec.kinds == [.alert])
    }
}
