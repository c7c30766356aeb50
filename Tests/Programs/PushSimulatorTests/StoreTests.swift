import JSON5
import PushLoop
import PushRandom
import PushTransport
import Receipts
import TestSupport
import Testing

@testable import PushSimulator

@Suite struct StoreTests {
    private static let now = WallTime.current()

    private func notice(_ text: String, seed: UInt64 = 1) throws -> StoreNotice {
        var random = SeededRandom(seed: seed)
        return try StoreNotice(JSON5Reader.read(Array(text.utf8)), random: &random)
    }

    @Test func `A notification is genuine by the rules of the verifier`() throws {
        let root = try CertificateAuthority(commonName: "Root")
        let signature = try StoreSignature(root: root)
        let notice = try notice(
            """
            {type: "DID_RENEW", subtype: "BILLING_RECOVERY", bundle_id: "com.example.shop", environment: "Production",
             app_apple_id: 42, product_id: "pro", transaction_id: "7", original_transaction_id: "3",
             app_account_token: "6851d77c-dfe0-5021-a5a1-7e79436331fb", id: "one"}
            """)
        let text = try notice.signed(with: signature, now: Self.now)
        let verifier = SignedDataVerifier(
            apps: [StoreApp(bundleID: "com.example.shop", appAppleID: 42)],
            roots: try TrustedRoots(der: [root.certificate.der]))
        let verified = try verifier.notification(text).content
        #expect(verified.type == .didRenew && verified.subtype?.rawValue == "BILLING_RECOVERY" && verified.id == "one")
        #expect(verified.environment == .production && verified.appAppleID == 42)
        #expect(verified.signedAt.milliseconds == Self.now.milliseconds)
        let transaction = try #require(verified.transaction)
        #expect(transaction.transactionID == "7" && transaction.originalTransactionID == "3")
        #expect(transaction.productID == "pro")
        #expect(transaction.appAccountToken == "6851d77c-dfe0-5021-a5a1-7e79436331fb")
        let stranger = SignedDataVerifier(apps: [StoreApp(bundleID: "com.example.shop", appAppleID: 42)])
        #expect(throws: ReceiptRefusal.self) { try stranger.notification(text) }
    }

    @Test func `Without an id, each notification has its own`() throws {
        let minimal = #"{type: "TEST", bundle_id: "a.b"}"#
        let ids = try (1...20 as ClosedRange<UInt64>).map { try notice(minimal, seed: $0).id }
        #expect(Set(ids).count == 20 && ids.allSatisfy { $0.utf8.count == 36 })
    }

    @Test(arguments: [
        ("{}", "type"), (#"{type: "TEST"}"#, "bundle_id"), (#"{type: "", bundle_id: "a"}"#, "type"),
        (#"{type: "TEST", bundle_id: "a", url: "nowhere"}"#, "url"),
        (#"{type: "TEST", bundle_id: "a", times: 0}"#, "times"),
        (#"{type: "TEST", bundle_id: "a", times: 1e9}"#, "times"),
        (#"{type: "TEST", bundle: "a"}"#, "did you mean \"bundle_id\"?"), ("[]", "object"),
    ])
    func `A malformed request is refused with the key`(text: String, word: String) {
        let error = #expect(throws: ScriptError.self) { _ = try notice(text) }
        #expect(error?.description.contains(word) == true, "\(error?.description ?? "")")
    }

    private static func receipt(_ text: String) -> String {
        String(decoding: Base64.encode(Array(text.utf8)), as: UTF8.self)
    }

    private static func status(_ body: String, isSandbox: Bool = false, of desk: inout ReceiptVerifier) throws -> Int64?
    {
        try JSON5Reader.read(desk.answer(Array(body.utf8), isSandbox: isSandbox))["status"]?.integer
    }

    @Test func `Receipts get the statuses of Apple's server`() throws {
        var desk = ReceiptVerifier()
        func status(_ receipt: String, more: String = "", isSandbox: Bool = false) throws -> Int64? {
            try Self.status(
                #"{"receipt-data":"\#(Self.receipt(receipt))"\#(more)}"#, isSandbox: isSandbox, of: &desk)
        }
        #expect(try status(#"{"bundle_id":"a"}"#) == 0)
        #expect(try status(#"{"bundle_id":"a"}"#, isSandbox: true) == 21008)
        #expect(try status(#"{"bundle_id":"a","environment":"Sandbox"}"#) == 21007)
        #expect(try status(#"{"bundle_id":"a","environment":"Sandbox"}"#, isSandbox: true) == 0)
        #expect(try status(#"{"bundle_id":"a","shared_secret":"s"}"#) == 21004)
        #expect(try status(#"{"bundle_id":"a","shared_secret":"s"}"#, more: #","password":"s""#) == 0)
        #expect(try status(#"{"bundle_id":"a","status":21003}"#) == 21003)
        #expect(try status("garbage") == 21002)
        for expected in [21005, 21005, 0, 0] as [Int64] {
            #expect(try status(#"{"bundle_id":"a","status":21005,"times":2}"#) == expected)
        }
        for body in ["", "[]", "{", #"{"receipt-data":1}"#, #"{"receipt-data":"***"}"#] {
            let found = try Self.status(body, of: &desk)
            #expect(found == 21000 || found == 21002, "\(body)")
        }
    }
}
