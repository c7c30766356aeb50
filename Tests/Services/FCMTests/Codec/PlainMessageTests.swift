import PushModel
import PushWire
import Testing

@testable import FCM

@Suite struct PlainMessageTests {
    private let codec = FCMCodec()

    private func payload(_ fields: String, _ options: MessageOptions = MessageOptions()) throws -> String {
        let bytes = try codec.payload(fromFields: Array(fields.utf8), for: options)
        // What is rendered passes the rules for payloads.
        try codec.judge(bytes, for: options)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func options(
        type: MessageType = .alert, priority: PushPriority? = nil, expiresAt: Int64? = nil, collapse: String? = nil
    ) -> MessageOptions {
        MessageOptions(
            type: type, priority: priority, expiry: Expiry(expiresAt: expiresAt),
            collapseID: collapse.flatMap { CollapseID($0) })
    }

    @Test func `Plain fields are rendered for Android, as data and as a notification`() throws {
        #expect(
            try payload(#"{"alert":"Hello"}"#)
                == #"{"android":{"notification":{"tag":""},"priority":"high"},"notification":{"body":"Hello"}}"#)
        #expect(
            try payload(
                #"{"custom":{"order":"4711","a":"ä\n"},"alert":{"title":"Shop","body":"Shipped"},"badge":3,"sound":"ping"}"#,
                options(priority: .five, expiresAt: 4_102_444_800, collapse: "order-4711"))
                == #"{"android":{"ttl":"","notification":{"tag":"order-4711","notification_count":3,"sound":"ping"},"#
                + #""collapse_key":"order-4711","priority":"normal"},"data":{"a":"ä\n","order":"4711"},"#
                + #""notification":{"body":"Shipped","title":"Shop"}}"#)
        #expect(
            try payload(#"{"custom":{"sync":"1"}}"#, options(type: .background))
                == #"{"android":{"priority":"normal"},"data":{"sync":"1"}}"#)
        #expect(
            try payload(#"{"alert":{"title-loc-key":"T","title-loc-args":["a"],"loc-key":"B"}}"#)
                == #"{"android":{"notification":{"tag":"","body_loc_key":"B","title_loc_args":["a"],"title_loc_key":"T"},"#
                + #""priority":"high"},"notification":{}}"#)
    }

    @Test func `An image belongs to the notification, and a link to the data`() throws {
        #expect(
            try payload(
                #"{"alert":{"body":"b"},"image":"https://example.com/i.png","link":"shop://1","custom":{"a":"1"}}"#)
                == #"{"android":{"notification":{"tag":""},"priority":"high"},"data":{"a":"1","link":"shop://1"},"#
                + #""notification":{"body":"b","image":"https://example.com/i.png"}}"#)
        #expect(
            try payload(#"{"alert":"b","image":"https://example.com/i.png"}"#)
                == #"{"android":{"notification":{"tag":""},"priority":"high"},"#
                + #""notification":{"body":"b","image":"https://example.com/i.png"}}"#)
        #expect(
            try payload(#"{"link":"shop://1"}"#, options(type: .background))
                == #"{"android":{"priority":"normal"},"data":{"link":"shop://1"}}"#)
    }

    @Test func `Equal fields give equal bytes`() throws {
        #expect(
            try payload(#"{"alert":{"body":"b","title":"t"},"custom":{"b":"2","a":"1"}}"#)
                == payload(#"{ "custom" : {"a":"1", "b":"2"}, "alert":{"title":"\u0074","body":"b"} }"#))
    }

    @Test(
        arguments: [
            (#"{"alert":"x","custom":{"n":1}}"#, "/custom/n"), (#"{"alert":"x","custom":{"n":null}}"#, "/custom/n"),
            (#"{"alert":"x","custom":{"o":{"a":"b"}}}"#, "/custom/o"), (#"{"custom":{"from":"x"}}"#, "/custom/from"),
            (#"{"custom":{"message_type":"x"}}"#, "/custom/message_type"),
            (#"{"custom":{"google.x":"x"}}"#, "/custom/google.x"), (#"{"custom":{"gcm.n/x":"x"}}"#, "/custom/gcm.n~1x"),
            (#"{"alert":{"subtitle":"x"}}"#, "subtitle"), (#"{"alert":{"title":7}}"#, "/notification/title"),
            (#"{"alert":"x","badge":-1}"#, "badge"), (#"{"alert":"x","sound":{"name":"x"}}"#, "sound"),
            (#"{"alert":"x","link":"y","custom":{"link":"z"}}"#, "/custom/link"), (#"{"image":"x"}"#, "need an alert"),
            (#"{"alert":"x","category":"c"}"#, "category: FCM cannot show it"),
            (#"{"alert":"x","thread":"t"}"#, "thread: FCM cannot show it"), (#"{"badge":1}"#, "need an alert"),
            (#"{"custom":{"a":"1","a":"2"}}"#, "twice"),
        ])
    func `What FCM does not have is refused by name`(_ fields: String, _ name: String) {
        #expect { try payload(fields) } throws: { ($0 as? Rejection)?.detail.contains(name) == true }
    }

    @Test func `A background message shows nothing`() {
        for fields in [#"{"alert":"x"}"#, #"{"badge":1}"#, #"{"sound":"x"}"#, #"{"image":"x"}"#] {
            #expect(throws: Rejection.self) { try payload(fields, options(type: .background)) }
        }
    }

    @Test func `The size counts keys and values of data and notification`() throws {
        let fits = String(repeating: "x", count: 4096 - "body".utf8.count)
        #expect(throws: Never.self) { try payload(#"{"alert":"\#(fits)"}"#) }
        #expect { try payload(#"{"alert":"\#(fits)x"}"#) } throws: {
            ($0 as? Rejection)?.reason == .payloadTooLarge
        }
        #expect { try payload(#"{"alert":"\#(String(repeating: "x", count: 100_000))"}"#) } throws: {
            ($0 as? Rejection)?.reason == .payloadTooLarge
        }
    }
}
