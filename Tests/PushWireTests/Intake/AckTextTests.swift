import PushModel
import PushWire
import Testing

@Suite struct AckTextTests {
    static func text(_ write: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        write(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `each status is one JSON object`() {
        let id = MessageID("order-4711-shipped")!
        #expect(
            Self.text { AckText.accepted(id: id, seq: 918_273, to: &$0) }
                == #"{"id":"order-4711-shipped","status":"accepted","seq":918273}"#)
        #expect(
            Self.text { AckText.duplicate(id: id, seq: .max, to: &$0) }
                == #"{"id":"order-4711-shipped","status":"duplicate","seq":18446744073709551615}"#)
        #expect(
            Self.text {
                AckText.rejected(id: "a", Rejection(.payloadTooLarge, "4311 bytes; alert allows 4096"), to: &$0)
            }
                == #"{"id":"a","status":"rejected","reason":"payload_too_large","detail":"4311 bytes; alert allows 4096"}"#
        )
        #expect(
            Self.text { AckText.busy(id: "a", retryAfterMS: 250, to: &$0) }
                == #"{"id":"a","status":"busy","retry_after_ms":250}"#)
    }

    @Test func `what JSON must escape is escaped`() {
        #expect(
            Self.text { AckText.accepted(id: MessageID(#"a"\ü"#)!, seq: 1, to: &$0) }
                == #"{"id":"a\"\\ü","status":"accepted","seq":1}"#)
        #expect(
            Self.text { AckText.rejected(id: "a\0\n", Rejection(.badField, "no \"x\""), to: &$0) }
                == #"{"id":"a\u0000\n","status":"rejected","reason":"bad_field","detail":"no \"x\""}"#)
    }

    @Test func `an id that could not be read is null`() {
        #expect(
            Self.text { AckText.busy(id: nil, retryAfterMS: 0, to: &$0) }
                == #"{"id":null,"status":"busy","retry_after_ms":0}"#)
    }
}
