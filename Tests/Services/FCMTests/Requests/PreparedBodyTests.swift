import PushModel
import PushTime
import PushTransport
import PushWire
import Testing

@testable import FCM

@Suite struct PreparedBodyTests {
    private let fid = "cHk3b2Pq-1x_ZZaabbccdd"

    private func message(_ payload: String, id: String = "order-1", expiresAt: Int64? = nil) throws -> Message {
        Message(
            id: try #require(MessageID(id)), app: try #require(AppID("shop")), expiry: Expiry(expiresAt: expiresAt),
            payload: Array(payload.utf8))
    }

    private func body(_ message: Message, to address: String, at now: Int64 = 1000) throws -> String {
        var body = PreparedBody(message, at: now)
        return String(decoding: body.bytes(to: try FCMCodec().address(address)), as: UTF8.self)
    }

    @Test func `A payload is sent byte for byte, with the address behind it`() throws {
        let payload = "{ \"data\" : {\"a\":\"\\u0031\"} \n}\n"
        #expect(
            try body(message(payload), to: "token-1")
                == "{\"message\":{ \"data\" : {\"a\":\"\\u0031\"} \n,\"token\":\"token-1\"}}")
        #expect(try body(message("{}"), to: "token-1") == #"{"message":{"token":"token-1"}}"#)
        #expect(try body(message("{ }"), to: "token-1") == #"{"message":{ "token":"token-1"}}"#)
        #expect(PreparedBody.payload(of: try message("{}"), at: 0) == Array("{}".utf8))
    }

    @Test func `An installation id has a member of its own`() throws {
        #expect(try body(message("{}"), to: fid) == #"{"message":{"fid":"\#(fid)"}}"#)
        #expect(try body(message("{}"), to: "\(fid):APA91b") == #"{"message":{"token":"\#(fid):APA91b"}}"#)
    }

    @Test func `The time to live is that which is left, and the tag is the message id`() throws {
        let payload =
            #"{"android":{"ttl":"","notification":{"tag":""},"priority":"high"},"notification":{"body":"x"}}"#
        let rest = #"},"priority":"high"},"notification":{"body":"x"},"token":"t"}}"#
        let start = { (ttl: String, tag: String) in
            #"{"message":{"android":{"ttl":"\#(ttl)","notification":{"tag":"\#(tag)""# + rest
        }
        #expect(try body(message(payload, expiresAt: 1060), to: "t") == start("60s", "order-1"))
        #expect(try body(message(payload, expiresAt: 999), to: "t") == start("0s", "order-1"))
        #expect(try body(message(payload, expiresAt: 0), to: "t") == start("0s", "order-1"))
        #expect(try body(message(payload, expiresAt: .max), to: "t") == start("2419200s", "order-1"))
        #expect(try body(message(payload, id: "a\"b", expiresAt: 1001), to: "t") == start("1s", "a\\\"b"))
        let collapsed = #"{"android":{"notification":{"tag":"mine"},"priority":"high"},"notification":{"body":"x"}}"#
        #expect(
            try body(message(collapsed), to: "t")
                == #"{"message":"# + collapsed.dropLast() + #","token":"t"}}"#)
    }

    @Test func `Each rendered payload is filled in, so that no empty place is sent`() throws {
        let codec = FCMCodec()
        for fields in [#"{"alert":"x"}"#, #"{"custom":{"a":"1"}}"#, #"{"alert":"x","badge":1}"#] {
            for expiresAt in [nil, 0, 2000] as [Int64?] {
                let options = MessageOptions(expiry: Expiry(expiresAt: expiresAt))
                let payload = try codec.payload(fromFields: Array(fields.utf8), for: options)
                let message = try message(String(decoding: payload, as: UTF8.self), expiresAt: expiresAt)
                let text = try body(message, to: "t")
                let shown = String(decoding: PreparedBody.payload(of: message, at: 1000), as: UTF8.self)
                #expect(text == #"{"message":\#(shown.dropLast()),"token":"t"}}"#, "what is shown is what is sent")
                #expect(!text.contains(#""""#), "\(text)")
                #expect(text.contains(#""ttl":"#) == (expiresAt != nil))
                #expect((try? JSONDocument(Array(text.utf8))) != nil)
            }
        }
    }

    @Test func `An address of another service cannot leave its string`() throws {
        let address = try #require(Address(bytes: Array("a\"},\"topic\":\"x".utf8) + [0xff, 0x00]))
        var body = PreparedBody(try message("{}"), at: 0)
        let bytes = body.bytes(to: address)
        let json = try JSONDocument(bytes)
        let inner = try #require(json.value("message", in: json.root))
        #expect(json.value("topic", in: inner) == nil && json.value("token", in: inner) != nil)
    }

    @Test func `A body that is used again is as a new one`() throws {
        let hostile = try #require(Address(bytes: Array("a\"b".utf8) + [0xff]))
        let codec = FCMCodec()
        var used = PreparedBody(try message("{}"), at: 0)
        for address in [
            try codec.address(String(repeating: "x", count: 900)), hostile, try codec.address(fid),
            try codec.address("t"), hostile,
        ] {
            var new = PreparedBody(try message("{}"), at: 0)
            #expect(used.bytes(to: address) == new.bytes(to: address))
        }
    }

    @Test func `A validation names a topic and delivers nothing`() throws {
        let message = Message(
            id: try #require(MessageID("check")), app: try #require(AppID("shop")), type: .validation,
            payload: Array("{}".utf8))
        #expect(
            try body(message, to: "t") == #"{"validate_only":true,"message":{"topic":"carillon-check"}}"#)
        #expect(!FCMCodec.types.all.contains(.validation))
    }

    @Test func `The id of an accepted message is the last part of its name`() {
        let name = { (text: String) in
            unsafe Array(text.utf8).withUnsafeBytes { unsafe FCMWriter.name(in: $0) }?.text
        }
        #expect(name(#"{"name":"projects/p/messages/0:150%3"}"#) == "0:150%3")
        // Also in forms that FCM does not give.
        let others = [
            "\n{ \"name\" : \"projects/p/messages/7\" }\r\n", #"{"name":"projects/p/messages/\u0037"}"#,
            #"{"name":"projects/a b/messages/7"}"#, #"{"name":"projects/ä/messages/7/"}"#,
            #"{"other":{"name":"x/1"},"name":"x/7"}"#, #"{"name":"7","name":"8"}"#,
        ]
        for text in others { #expect(name(text) == "7", "\(text)") }
        let none = [
            "", "{", "{}", "[]", #"{"name"}"#, #"{"name":"#, #"{"name":""#, #"{"name":"7""#, #"{"name":"7"}}"#,
            #"{"name":"7"]"#, #"{"name":"7",}"#, #"{"name":7}"#, #"{"name":"a/b\u0000c"}"#, #"{"name":""}"#,
            #"{"name":"///"}"#, #"{"name":"\#(String(repeating: "7", count: 129))"}"#, "<html>", #"{'name':"7"}"#,
        ]
        for text in none { #expect(name(text) == nil, "\(text)") }
    }

    @Test func `The quick reader of answers finds what the parser finds, in all that is nearly an answer`() {
        let body = Array("{\n  \"name\": \"projects/p/messages/0:150%3\"\n}\n".utf8)
        var random: UInt64 = 7
        func next() -> UInt64 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return random >> 33
        }
        func check(_ bytes: [UInt8]) {
            unsafe bytes.withUnsafeBytes {
                #expect(unsafe FCMWriter.name(in: $0) == FCMWriter.parsedName(in: $0), "\(bytes)")
            }
        }
        for count in 0...body.count { check(Array(body.prefix(count))) }
        for _ in 0..<5000 {
            var changed = body
            for _ in 0...next() % 3 { changed[Int(next() % UInt64(body.count))] = UInt8(truncatingIfNeeded: next()) }
            check(changed)
        }
    }
}
