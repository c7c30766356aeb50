import PushModel
import Testing

@testable import APNs
@testable import PushWire

@Suite struct AckTextTests {
    static func text(_ write: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        write(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `Each ack is one JSON object`() {
        let id = MessageID("order-4711-shipped")!
        #expect(
            Self.text { AckText.accepted(id: id, seq: 918_273, to: &$0) }
                == #"{"id":"order-4711-shipped","status":"accepted","seq":918273}"#)
        #expect(
            Self.text { AckText.duplicate(id: id, seq: .max, to: &$0) }
                == #"{"id":"order-4711-shipped","status":"duplicate","seq":18446744073709551615}"#)
        #expect(
            Self.text {
                AckText.rejected(id: "a", Rejection(.payloadTooLarge, detail: "4311 bytes; alert allows 4096"), to: &$0)
            }
                == #"{"id":"a","status":"rejected","reason":"payload_too_large","detail":"4311 bytes; alert allows 4096"}"#
        )
        #expect(
            Self.text { AckText.busy(id: "a", retryAfterMS: 250, to: &$0) }
                == #"{"id":"a","status":"busy","retry_after_ms":250}"#)
    }

    @Test func `An ack contains the findings of the payload`() {
        let finding = PayloadFinding(
            severity: .ignored, code: .misspeltKey, path: "aps.\"bagde", problem: "there is no such key",
            advice: "did you mean badge?", offset: nil)
        let findings = PayloadFinding.ack([finding, finding])
        let one = #"{"code":"misspelt_key","path":"aps.\"bagde","detail":"there is no such key; did you mean badge?"}"#
        #expect(
            Self.text { AckText.accepted(id: MessageID("a")!, seq: 1, findings: findings, to: &$0) }
                == #"{"id":"a","status":"accepted","seq":1,"findings":[\#(one),\#(one)]}"#)
        #expect(
            Self.text { AckText.duplicate(id: MessageID("a")!, seq: 1, findings: findings, to: &$0) }
                == #"{"id":"a","status":"duplicate","seq":1,"findings":[\#(one),\#(one)]}"#)
        #expect(PayloadFinding.ack([]).isEmpty)
    }

    @Test(arguments: [
        (PayloadFinding.Code.noAps, "no_aps"), (.notJSON, "not_json"), (.apsBesideMDM, "aps_beside_mdm"),
        (.badCollapseID, "bad_collapse_id"), (.customInsideAps, "custom_inside_aps"), (.empty, "empty"),
    ])
    func `Codes of findings are written in snake case`(_ code: PayloadFinding.Code, _ word: String) {
        #expect(code.word == word)
    }

    @Test func `Characters that JSON requires to be escaped are escaped`() {
        #expect(
            Self.text { AckText.accepted(id: MessageID(#"a"\ü"#)!, seq: 1, to: &$0) }
                == #"{"id":"a\"\\ü","status":"accepted","seq":1}"#)
        #expect(
            Self.text { AckText.rejected(id: "a\0\n", Rejection(.badField, detail: "no \"x\""), to: &$0) }
                == #"{"id":"a\u0000\n","status":"rejected","reason":"bad_field","detail":"no \"x\""}"#)
    }

    @Test func `An id that could not be read is written as null`() {
        #expect(
            Self.text { AckText.busy(id: nil, retryAfterMS: 0, to: &$0) }
                == #"{"id":null,"status":"busy","retry_after_ms":0}"#)
    }
}
