import PushModel
import PushWire
import Testing

@Suite struct EnvelopePayloadTests {
    typealias Examples = EnvelopeExamples

    static func payload(_ members: String) throws -> String {
        String(decoding: try Examples.request(members, frame: nil).message.payload, as: UTF8.self)
    }

    @Test func `Frame 3 is forwarded byte for byte`() throws {
        let frame = "\n{ \"aps\" : {\"badge\":1.0e0} ,\"x\":\"\\u0041\"} "
        #expect(try Examples.request(frame: frame).message.payload == Array(frame.utf8))
    }

    @Test func `A payload in the envelope is forwarded byte for byte`() throws {
        let inline = #"{ "aps" : {"alert":"a\u0041\ud83d\ude00 ü"} ,"x":[1.50, {"y":null}]}"#
        #expect(try Self.payload(#""payload": \#(inline) "#) == inline)
    }

    @Test(arguments: [
        (#""alert":"Hi""#, #"{"aps":{"alert":"Hi"}}"#),
        (#""badge":0"#, #"{"aps":{"badge":0}}"#),
        (#""custom":{}"#, #"{"aps":{}}"#),
        (#""sound":"x.caf","badge":3,"alert":"Hi""#, #"{"aps":{"alert":"Hi","badge":3,"sound":"x.caf"}}"#),
        (
            #""sound":{"volume":0.50,"name":"x","critical":1},"alert":{"title":"\u0054","body":"B\"\u00fc"}"#,
            #"{"aps":{"alert":{"body":"B\"ü","title":"T"},"sound":{"critical":1,"name":"x","volume":0.50}}}"#
        ),
        (
            #""custom" : { "b" : [ 1 , {"d":2,"c":[]} , "\n" ] , "a" : 123456789012345678901234567890 }"#,
            #"{"aps":{},"a":123456789012345678901234567890,"b":[1,{"c":[],"d":2},"\n"]}"#
        ),
        (#""thread":"t","category":"c""#, #"{"aps":{"thread-id":"t","category":"c"}}"#),
        (#""link":"shop:\u0041","alert":"Hi""#, #"{"aps":{"alert":"Hi"},"link":"shop:A"}"#),
        (#""image":"https://a.example/b.png""#, #"{"aps":{"mutable-content":1},"image":"https://a.example/b.png"}"#),
        (
            #""custom":{"z":1,"b":2},"link":"shop:a","thread":"t","image":"i:j","category":"c","alert":"Hi","badge":1"#,
            #"{"aps":{"alert":"Hi","badge":1,"thread-id":"t","category":"c","mutable-content":1},"#
                + #""image":"i:j","link":"shop:a","b":2,"z":1}"#
        ),
        (#""custom":{"link":2,"image":1}"#, #"{"aps":{},"image":1,"link":2}"#),
        (
            #""alert":{"loc-key":"K","loc-args":["a"],"body":"B"}"#,
            #"{"aps":{"alert":{"body":"B","loc-args":["a"],"loc-key":"K"}}}"#
        ),
    ])
    func `Plain fields give the same payload in any order`(_ members: String, _ payload: String) throws {
        #expect(try Self.payload(members) == payload)
    }

    @Test(
        arguments: [
            // The number of payloads.
            ("", nil, .missingField, "payload is missing"),
            (#""payload":{}"#, "{}", .badField, "frame 3 and as payload"),
            (#""badge":1"#, "{}", .badField, "frame 3 and as badge"),
            (#""payload":{},"custom":{}"#, nil, .badField, "payload and as custom"),
            // A payload in frame 3.
            ("", "", .badPayload, "empty"), ("", "[]", .badPayload, "an array"), ("", "{", .badPayload, "not JSON"),
            ("", #"{"a":1}x"#, .badPayload, "not JSON"), ("", #"{"a":tru}"#, .badPayload, "not JSON"),
            (
                "", #"{"aps":{"alert":"\#(String(repeating: "x", count: 4096))"}}"#, .payloadTooLarge,
                "4116 bytes; alert allows 4096"
            ),
            // A payload in the envelope.
            (#""payload":[]"#, nil, .badPayload, "payload is an array, not an object"),
            (#""payload":"{}""#, nil, .badPayload, "payload is a string"),
            (
                #""payload":{"a":\#(String(repeating: "[", count: 64))\#(String(repeating: "]", count: 64))}"#, nil,
                .badPayload, "deep"
            ),
            (
                #""payload":{"a":"\#(String(repeating: "x", count: 5000))"}"#, nil, .payloadTooLarge,
                "5008 bytes; alert allows 4096"
            ),
            // Plain fields.
            (#""alert":7"#, nil, .badField, "alert is a number, not a string or an object"),
            (#""badge":"1""#, nil, .badField, "badge is a string"),
            (#""badge":-1"#, nil, .badField, "badge is negative"),
            (#""badge":1.0"#, nil, .badField, "point"), (#""badge":null"#, nil, .badField, "badge is null"),
            (#""sound":true"#, nil, .badField, "sound is a boolean"),
            (#""custom":[]"#, nil, .badField, "custom is an array, not an object"),
            (#""custom":{"aps":{}}"#, nil, .badField, #""aps" is reserved"#),
            (#""custom":{"\u0061ps":{}}"#, nil, .badField, #""aps" is reserved"#),
            (#""custom":{"mdm":"x"}"#, nil, .badField, #""mdm" is reserved"#),
            (#""custom":{"a":1,"\u0061":2}"#, nil, .badField, #"custom: "a" is given twice"#),
            (#""alert":{"body":"a","body":"b"}"#, nil, .badField, #"alert: "body" is given twice"#),
            (#""payload":{},"link":"shop:a""#, nil, .badField, "payload and as link"),
            (#""image":7"#, nil, .badField, "image is a number, not a string"),
            (#""link":"""#, nil, .badField, "link is empty"),
            (#""category":"a\u0000""#, nil, .badField, "category has a control character"),
            (#""thread":null"#, nil, .badField, "thread is null, not a string"),
            (#""link":"shop:a","custom":{"link":1}"#, nil, .badField, #"custom: "link" is given twice"#),
            (#""image":"i:j","custom":{"\u0069mage":1}"#, nil, .badField, #"custom: "image" is given twice"#),
            (#""alert":{"titel":"a"}"#, nil, .badField, "/alert/titel: alert has no such member; did you mean title?"),
            (#""alert":{"body":"a","a/b~":1}"#, nil, .badField, "/alert/a~1b~0: alert has no such member"),
            (#""alert":{"title":7}"#, nil, .badField, "/alert/title: it is a number, not a string"),
            (#""alert":{"\u0062ody":{}}"#, nil, .badField, "/alert/body: it is an object, not a string"),
            (
                #""alert":"\#(String(repeating: "x", count: 4096))""#, nil, .payloadTooLarge,
                "4116 bytes; alert allows 4096"
            ),
        ] as [(String, String?, RejectionReason, String)])
    func `A rejected payload has the reason and the cause`(
        _ members: String, _ frame: String?, _ reason: RejectionReason, _ words: String
    ) {
        let rejection = Examples.rejection(Examples.envelope(members), frame: frame)
        #expect(rejection?.reason == reason)
        #expect(rejection?.detail.contains(words) == true, "\(rejection?.detail ?? "")")
    }

    @Test func `A payload may be as large as its push type allows, and not larger`() throws {
        let frame = #"{"a":"\#(String(repeating: "x", count: 5112))"}"#
        #expect(try Examples.request(#""push_type":"voip""#, frame: frame).message.payload.count == 5120)
        #expect(
            Examples.rejection(Examples.envelope(#""push_type":"voip""#), frame: frame + " ")
                == Rejection(.payloadTooLarge, detail: "5121 bytes; voip allows 5120"))
    }

    /// It is not an argument of a test, because the record of a run has the text of each.
    @Test func `A payload from plain fields may not be much too large, either`() {
        let members = #""alert":"a","custom":{"a":"\#(String(repeating: "x", count: 1 << 20))","b":1}"#
        let rejection = Examples.rejection(Examples.envelope(members), frame: nil)
        #expect(rejection?.reason == .payloadTooLarge)
        #expect(rejection?.detail.contains("alert allows 4096") == true)
    }

    @Test func `The depth limit of a payload is the same within and outside of the envelope`() throws {
        func deep(_ depth: Int) -> String {
            String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        }
        #expect(try Examples.request(frame: deep(64)).message.payload == Array(deep(64).utf8))
        #expect(try Self.payload(#""payload":\#(deep(64))"#) == deep(64))
        #expect(try Self.payload(#""custom":\#(deep(64))"#) == #"{"aps":{},"# + deep(64).dropFirst())
        #expect(Examples.rejection(Examples.envelope(), frame: deep(65))?.reason == .badPayload)
        #expect(Examples.rejection(Examples.envelope(#""payload":\#(deep(65))"#), frame: nil)?.reason == .badPayload)
        #expect(Examples.rejection(Examples.envelope(#""custom":\#(deep(65))"#), frame: nil)?.reason == .badPayload)
    }
}
