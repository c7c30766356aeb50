import PushGateways
import PushModel
import PushRandom
import PushTime
import Testing

@testable import FCM

@Suite struct FCMAnswerTests {
    private func reason(_ body: String) -> String? { FCMAnswer(Array(body.utf8)).reason?.rawValue }

    @Test(
        arguments: [
            "", "x", "[]", "7", "null", "{}", #"{"error":null}"#, #"{"error":[]}"#, #"{"error":{"status":7}}"#,
            #"{"error":{"status":""}}"#, #"{"error":{"status":"a b"}}"#, #"{"error":{"status":"\u0000"}}"#,
            #"{"error":{"details":{}}}"#, #"{"error":{"details":[7,null,[],{"@type":7}]}}"#,
            // A status that only a code of FCM may have ends no device.
            #"{"error":{"status":"UNREGISTERED"}}"#, #"{"error":{"status":"INVALID_TOKEN"}}"#,
            #"{"error":{"status":"SENDER_ID_MISMATCH"}}"#,
        ])
    func `A body of another form has no reason`(_ body: String) { #expect(reason(body) == nil) }

    @Test func `A word of Carillon is not taken from an answer`() {
        let code = { (word: String) in
            #"{"error":{"details":[{"@type":"x/google.firebase.fcm.v1.FcmError","errorCode":"\#(word)"}]}}"#
        }
        #expect(reason(code("INVALID_TOKEN")) == nil)
        #expect(reason(code("PROJECT_QUOTA_EXCEEDED")) == nil)
        #expect(reason(code("A_NEW_CODE")) == "A_NEW_CODE")
        #expect(reason(code(String(repeating: "A", count: 65))) == nil)
        #expect(reason(#"{"error":{"details":[{"@type":"x/FcmErrors","errorCode":"UNREGISTERED"}]}}"#) == nil)
        let info = #"{"error":{"details":[{"@type":"x/google.rpc.ErrorInfo","reason":"UNREGISTERED"}]}}"#
        #expect(reason(info) == nil)
    }

    @Test func `A long or deep body, or one with many details, is bounded`() {
        let padding = String(repeating: " ", count: FCMAnswer.maxLength)
        #expect(reason(#"{"error":{"status":"INTERNAL"}}"# + padding) == nil)
        #expect(reason(#"{"error":{"status":"INTERNAL"}}"#) == "INTERNAL")
        let many = String(repeating: "{},", count: 16)
        let last = #"{"@type":"x/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}"#
        #expect(reason(#"{"error":{"details":[\#(many)\#(last)]}}"#) == nil)
        #expect(reason(String(repeating: "[", count: 16_000)) == nil)
    }

    @Test func `No prefix and no changed byte of an answer traps, and none ends a device that should stay`() {
        let body = Array(
            (#"{"error":{"code":400,"message":"x","status":"INVALID_ARGUMENT","details":[{"@type":"#
                + #""type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},{"@type":"#
                + #""type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.data"}]}]}}"#).utf8
        )
        var random = SeededRandom(seed: 7)
        let check = { (bytes: [UInt8]) in
            let reason = FCMAnswer(bytes).reason
            #expect(ReasonTable.fcm.end(of: Refusal(status: 400, reason: reason)) == nil)
        }
        for count in 0...body.count { check(Array(body.prefix(count))) }
        for _ in 0..<5000 {
            var changed = body
            for _ in 0..<(1 + Int(random.next() % 4)) {
                changed[Int(random.next() % UInt64(body.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            check(changed)
        }
    }

    @Test func `Retry-After is a number of seconds or a date`() {
        let now = WallTime(milliseconds: 1_446_825_600_000)
        let seconds = { RetryAfter.seconds($0, now: now) }
        #expect(seconds("0") == 0 && seconds("120") == 120)
        #expect(seconds("99999999999999999999") == RetryAfter.max)
        #expect(seconds("Fri, 06 Nov 2015 16:02:00 GMT") == 120)
        #expect(seconds("Fri, 06 Nov 2015 15:59:00 GMT") == 0)
        #expect(seconds("Fri, 31 Dec 9999 23:59:59 GMT") == RetryAfter.max)
        for text in [
            "", "-1", "1.5", "1 ", "soon", "Fri, 06 Nov 2015 16:02:00", "Fri, 06 Nov 2015 25:02:00 GMT",
            "Fri, 06 Xxx 2015 16:02:00 GMT", "Fri, 00 Nov 2015 16:02:00 GMT", "Friday, 06-Nov-15 16:02:00 GMT",
        ] { #expect(seconds(text) == nil, "\(text)") }
    }
}
