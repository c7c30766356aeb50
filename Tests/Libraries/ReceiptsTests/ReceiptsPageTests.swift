import PushTransport
import Receipts
import TestSupport
import Testing

/// Tests of Documentation/Receipts.md: its table of codes is complete, and its examples compile and hold.
@Suite struct ReceiptsPageTests {
    private static func page() throws -> String {
        let package = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()
        let bytes = try BoundedFile.read("\(package)/Documentation/Receipts.md", limit: 1 << 20)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("The page has each code", arguments: ReceiptRefusal.Code.allCases)
    func codes(code: ReceiptRefusal.Code) throws {
        #expect(try Self.page().contains("`\(code.rawValue)`"))
        #expect(code.isRetryable == code.rawValue.hasSuffix("_unavailable"))
    }

    /// The first example of the page.
    private func bought(_ text: String, _ verifier: SignedDataVerifier) -> String {
        do {
            let transaction = try verifier.transaction(text)
            if transaction.content.isRevoked { return "refunded" }
            return "bought \(transaction.content.productID ?? "nothing")"
        } catch {
            // error.code is for programs, and error.sentence for people.
            return "\(error.code.rawValue): \(error.sentence)"
        }
    }

    @Test("The example of a transaction works")
    func transaction() throws {
        let vectors = StoreVectors()
        let verifier = try vectors.verifier()
        #expect(bought(try vectors.signer.sign(vectors.transaction()), verifier) == "bought com.example.shop.gold")
        let refunded = vectors.transaction(more: ",\"revocationDate\":1")
        #expect(bought(try vectors.signer.sign(refunded), verifier) == "refunded")
        #expect(bought("x", verifier).hasPrefix("wrong_segment_count: The text is not signed data"))
    }

    @Test("The example of a notification works")
    func notification() throws {
        let vectors = StoreVectors()
        let verifier = try vectors.verifier()
        let signed = try vectors.signer.sign(vectors.notification(try vectors.nestedData(), type: "REFUND"))
        let body = Array("{\"signedPayload\":\"\(signed)\"}".utf8)
        var taken: [String?] = []
        func take(_ product: String?, from token: String?) { taken = [product, token] }
        let payload = try ServerNotification.signedPayload(in: body)
        let notification = try verifier.notification(payload).content
        if notification.type == .refund, let transaction = notification.transaction {
            take(transaction.productID, from: transaction.appAccountToken)
        }
        #expect(taken == ["com.example.shop.gold", nil])
    }
}
