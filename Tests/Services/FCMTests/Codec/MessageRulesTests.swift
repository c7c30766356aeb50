import PushModel
import PushTime
import PushWire
import Testing

@testable import FCM

@Suite struct MessageRulesTests {
    private let codec = FCMCodec()

    @Test(
        arguments: [
            #"{}"#, #"{"data":{"a":"1"}}"#, #"{"notification":{"title":"t","body":"b","image":"https://x/y"}}"#,
            #"{"android":{"priority":"HIGH","ttl":"3600s","notification":{"channel_id":"a"}}}"#,
            #"{"android":{"priority":"normal","ttl":"1.5s"}}"#, #"{"android":{"ttl":"2419200s"}}"#,
            #"{"android":{"ttl":"0s","collapse_key":"k","data":{"x":"y"}}}"#,
            #"{"apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{}}}}"#,
            #"{"webpush":{"notification":{"title":"x"}}}"#, #"{"androidV2":{"anything":[1,2]}}"#,
            #"{"a_new_member":{"of":"Google"}}"#,
        ])
    func `A message of Google's form is taken as it is`(_ payload: String) throws {
        #expect(try codec.judge(Array(payload.utf8), for: MessageOptions()).isEmpty)
    }

    @Test(
        arguments: [
            (#"{"token":"x"}"#, "/token"), (#"{"fid":"x"}"#, "/fid"), (#"{"topic":"x"}"#, "/topic"),
            (#"{"condition":"x"}"#, "/condition"), (#"{"data":{"a":1}}"#, "/data/a"), (#"{"data":[]}"#, "/data"),
            (#"{"data":{"from":"x"}}"#, "/data/from"), (#"{"data":{"google.a":"x"}}"#, "/data/google.a"),
            (#"{"data":{"gcm.a":"x"}}"#, "/data/gcm.a"), (#"{"data":{"":"x"}}"#, "/data"),
            (#"{"data":{"a/b":true}}"#, "/data/a~1b"), (#"{"android":{"data":{"a":1}}}"#, "/android/data/a"),
            (#"{"notification":"x"}"#, "/notification"), (#"{"notification":{"title":1}}"#, "/notification/title"),
            (#"{"notification":{"sound":"x"}}"#, "/notification/sound"), (#"{"android":1}"#, "/android"),
            (#"{"android":{"priority":"10"}}"#, "/android/priority"), (#"{"android":{"ttl":3600}}"#, "/android/ttl"),
            (#"{"android":{"ttl":"3600"}}"#, "/android/ttl"), (#"{"android":{"ttl":"-1s"}}"#, "/android/ttl"),
            (#"{"android":{"ttl":"2419201s"}}"#, "/android/ttl"),
            (#"{"android":{"ttl":"2419200.1s"}}"#, "/android/ttl"),
            (#"{"android":{"ttl":""}}"#, "/android/ttl"), (#"{"android":{"ttl":"1.s"}}"#, "/android/ttl"),
            (#"{"android":{"ttl":"99999999999999999999s"}}"#, "/android/ttl"),
            (#"{"apns":{"headers":{"apns-priority":5}}}"#, "/apns/headers/apns-priority"),
            (#"{"apns":{"payload":1}}"#, "/apns/payload"), (#"{"data":{"a":"1","a":"2"}}"#, "twice"),
            (#"{"data":{},"data":{}}"#, "twice"), ("[]", "object"), ("7", "object"), ("", "object"), ("{", "object"),
        ])
    func `What FCM refuses is refused by its place`(_ payload: String, _ name: String) {
        #expect { try codec.judge(Array(payload.utf8), for: MessageOptions()) } throws: {
            ($0 as? Rejection)?.detail.contains(name) == true
        }
    }

    @Test func `A background message has no notification in any place`() {
        let options = MessageOptions(type: .background)
        for payload in [#"{"notification":{"body":"x"}}"#, #"{"android":{"notification":{"tag":"x"}}}"#] {
            #expect(throws: Rejection.self) { try codec.judge(Array(payload.utf8), for: options) }
        }
        #expect(throws: Never.self) { try codec.judge(Array(#"{"data":{"a":"1"}}"#.utf8), for: options) }
    }

    @Test func `The size counts keys and values, and the blocks of platforms do not count`() throws {
        let long = String(repeating: "x", count: 4092)
        #expect(throws: Never.self) {
            try codec.judge(Array(#"{"data":{"abcd":"\#(long)"}}"#.utf8), for: MessageOptions())
        }
        #expect {
            try codec.judge(Array(#"{"data":{"abcde":"\#(long)"}}"#.utf8), for: MessageOptions())
        } throws: { ($0 as? Rejection)?.reason == .payloadTooLarge }
        #expect(throws: Never.self) {
            try codec.judge(Array(#"{"webpush":{"data":{"a":"\#(long + long)"}}}"#.utf8), for: MessageOptions())
        }
        let huge = String(repeating: "x", count: 20_000)
        #expect {
            try codec.judge(Array(#"{"webpush":{"data":{"a":"\#(huge)"}}}"#.utf8), for: MessageOptions())
        } throws: { ($0 as? Rejection)?.reason == .payloadTooLarge }
    }

    @Test func `An option of the envelope that the payload lacks is a finding`() throws {
        let options = MessageOptions(expiry: .at(UnixSeconds(4_102_444_800)), collapseID: CollapseID("c"))
        let findings = String(
            decoding: try codec.judge(Array(#"{"data":{"a":"1"}}"#.utf8), for: options), as: UTF8.self)
        #expect(findings.contains("android.ttl") && findings.contains("android.collapse_key"))
        #expect(findings.hasPrefix(#"[{"code":"not_in_payload","path":"android.ttl","detail":""#))
        let whole = #"{"android":{"ttl":"60s","collapse_key":"c"}}"#
        #expect(try codec.judge(Array(whole.utf8), for: options).isEmpty)
    }

    @Test func `A message of high priority that shows nothing has a finding, in each form`() throws {
        let fields = try codec.payload(fromFields: Array(#"{"custom":{"a":"1"}}"#.utf8), for: MessageOptions())
        for payload in [
            fields, Array(#"{"android":{"priority":"HIGH"},"data":{"a":"1"}}"#.utf8),
            Array(#"{"android":{"priority":"high","data":{"a":"1"}}}"#.utf8),
        ] {
            let findings = String(decoding: try codec.judge(payload, for: MessageOptions()), as: UTF8.self)
            #expect(findings.hasPrefix(#"[{"code":"only_for_background","path":"android.priority","detail":""#))
        }
        let background = MessageOptions(type: .background, priority: .ten)
        #expect(try codec.judge(fields, for: background).isEmpty)
        for payload in [
            #"{"android":{"priority":"normal"},"data":{"a":"1"}}"#,
            #"{"android":{"priority":"high","notification":{"tag":"x"}},"data":{"a":"1"}}"#,
            #"{"android":{"priority":"high"},"notification":{"body":"x"}}"#,
            #"{"android":{"priority":"high"},"apns":{"payload":{"aps":{}}}}"#,
        ] {
            #expect(try codec.judge(Array(payload.utf8), for: MessageOptions()).isEmpty, "\(payload)")
        }
    }

    @Test func `No prefix and no changed byte of a payload traps`() {
        let payload = Array(
            #"{"android":{"ttl":"","notification":{"tag":"","x":["\u00e4",1e3]}},"data":{"a":"1"}}"#.utf8)
        for count in 0...payload.count {
            _ = try? codec.judge(Array(payload.prefix(count)), for: MessageOptions())
            _ = MessageSlots(Array(payload.prefix(count)))
        }
        for index in payload.indices {
            for byte: UInt8 in [0, 0x22, 0x5c, 0x7b, 0x7d, 0xff] {
                var changed = payload
                changed[index] = byte
                _ = try? codec.judge(changed, for: MessageOptions())
                _ = MessageSlots(changed)
            }
        }
    }
}
