import PushModel
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import APNs

@Suite struct ProviderAnswerTests {
    static let bodies: [(String, String?, Int64?)] = [
        (#"{"reason":"BadDeviceToken"}"#, "BadDeviceToken", nil),
        (#"{"reason":"Unregistered","timestamp":1767225600123}"#, "Unregistered", 1_767_225_600_123),
        (#" { "timestamp" : 0 , "new" : [{}], "reason" : "Tomorrow" } "#, "Tomorrow", 0),
        (#"{"reason":"Service Unavailable"}"#, "Service Unavailable", nil), (#"{"reason":"\u0041"}"#, "A", nil),
        (#"{"reason":null,"timestamp":"1"}"#, nil, nil), (#"{"reason":7,"timestamp":-1}"#, nil, nil),
        (#"{"reason":"","timestamp":99999999999999999999}"#, nil, nil), (#"{"reason":"a\nb"}"#, nil, nil),
        (#"{"reason":"é","timestamp":5}"#, nil, 5), (#"{"timestamp":1.5}"#, nil, nil), ("", nil, nil), ("{", nil, nil),
        ("[]", nil, nil), (#""reason""#, nil, nil), ("<html>502</html>", nil, nil), ("{}", nil, nil),
        ("{\"reason\":\"\(String(repeating: "x", count: 64))\"}", String(repeating: "x", count: 64), nil),
        ("{\"reason\":\"\(String(repeating: "x", count: 65))\"}", nil, nil),
        ("{\"reason\":\"A\",\"x\":\"\(String(repeating: "x", count: 5000))\"}", nil, nil),
    ]

    @Test(arguments: bodies) func `Reason and timestamp are parsed if they are valid`(
        body: String, reason: String?, timestamp: Int64?
    ) {
        let answer = ProviderAnswer(body: Array(body.utf8))
        #expect(answer.reason?.rawValue == reason)
        #expect(answer.timestamp?.milliseconds == timestamp)
        #expect(ProviderAnswer.reason(in: body.utf8)?.rawValue == reason)
    }

    @Test func `A refusal is created from status, body and retry-after`() {
        let refusal = Refusal(
            status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1767225600123}"#.utf8),
            retryAfter: "120")
        #expect(
            refusal
                == Refusal(status: 410, reason: "Unregistered", timestamp: 1_767_225_600_123, retryAfter: 120))
        #expect(ReasonTable.apns.disposition(of: refusal) == .deactivate)
        #expect(Refusal(status: 502, body: []) == Refusal(status: 502, reason: nil))
    }

    @Test(arguments: [
        ("0", 0), ("120", 120), ("007", 7), ("86400", 86_400), ("86401", 86_400), ("99999999999999999999999", 86_400),
        ("", nil), ("-1", nil), ("1.5", nil), (" 1", nil), ("Wed, 21 Oct 2026 07:28:00 GMT", nil),
    ]) func `A retry-after is whole seconds, at most a day`(field: String, seconds: Int?) {
        #expect(ProviderAnswer.retryAfter(field) == seconds)
    }

    @Test func `A unique id is short printable ASCII`() {
        let id = "6e22c1d2-0fbb-4b1c-9c3b-0a7b0f2b0a11"
        #expect(ProviderAnswer.providerID(id) == ProviderID(id, member: .apnsUniqueID))
        for wrong in ["", "a\u{0}", "é", String(repeating: "a", count: 65)] {
            #expect(ProviderAnswer.providerID(wrong) == nil)
        }
    }

    @Test func `No body causes a trap`() {
        var random = SeededRandom(seed: 7)
        let body = Array(#"{"reason":"Unregistered","timestamp":1767225600123}"#.utf8)
        for _ in 0..<RunKind.rounds(20_000) { _ = ProviderAnswer(body: random.mutate(body, chance: 1)) }
        for count in 0..<body.count { #expect(ProviderAnswer(body: body[..<count]).reason == nil) }
    }
}
