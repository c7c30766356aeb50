import Receipts
import Testing

@Suite struct NotificationBodyTests {
    @Test("The signed payload is taken from the body that the App Store posts")
    func body() throws {
        #expect(try ServerNotification.signedPayload(in: Array(" {\"signedPayload\":\"a.b.c\"}\n".utf8)) == "a.b.c")
    }

    @Test(
        "Another body is refused",
        arguments: [
            ("", .malformedPayload), ("[]", .malformedPayload), ("{}", .missingClaim), ("x", .malformedPayload),
            ("{\"signedPayload\":null}", .missingClaim), ("{\"signedPayload\":7}", .malformedPayload),
            ("{\"signedPayload\":\"a\",\"signedPayload\":\"b\"}", .duplicateKey),
            ("{\"notification_type\":\"CANCEL\",\"password\":\"x\"}", .missingClaim),
        ] as [(String, ReceiptRefusal.Code)])
    func wrong(body: String, expected: ReceiptRefusal.Code) {
        #expect(refusal { try ServerNotification.signedPayload(in: Array(body.utf8)) } == expected)
    }

    @Test("A body that is too long is refused")
    func long() {
        let body = [UInt8](repeating: 0x20, count: 600_000)
        #expect(refusal { try ServerNotification.signedPayload(in: body) } == .tooLong)
    }
}
