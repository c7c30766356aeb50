import Receipts
import TestSupport
import Testing

@Suite struct SignedDataVerifierTests {
    let vectors = StoreVectors()

    @Test("A genuine transaction is accepted, with its values and its raw JSON")
    func transaction() throws {
        let text = try vectors.signer.sign(vectors.transaction())
        let verified = try vectors.verifier().transaction(text)
        #expect(verified.content.transactionID == "2000000123456789")
        #expect(verified.content.originalTransactionID == "2000000100000000")
        #expect(verified.content.productID == "com.example.shop.gold")
        #expect(verified.content.type == .autoRenewableSubscription)
        #expect(verified.content.environment == .production)
        #expect(verified.content.expiresAt == StoreTime(milliseconds: 1_700_740_900_000))
        #expect(verified.content.price == 9990)
        #expect(!verified.content.isRevoked)
        #expect(verified.revocation == .notChecked)
        #expect(verified.signed.original == text)
        #expect(verified.signed.rawJSON == vectors.transaction())
        #expect(verified.signed.json["storefrontId"]?.string == "143441")
        #expect(verified.signed.signedAt.milliseconds == vectors.now)
    }

    @Test("A refunded transaction is genuine, and reports the refund")
    func refunded() throws {
        let payload = vectors.transaction(
            more: ",\"revocationDate\":1698148950000,\"revocationReason\":1,\"revocationType\":\"REFUND_PRORATED\","
                + "\"revocationPercentage\":50000")
        let content = try vectors.verifier().transaction(vectors.signer.sign(payload)).content
        #expect(content.isRevoked)
        #expect(content.revokedAt == StoreTime(milliseconds: 1_698_148_950_000))
        #expect(content.revocationReason == .appIssue)
        #expect(content.revocationType == .proratedRefund)
        #expect(content.revocationPercentage == 50_000)
    }

    @Test("Unknown words, numbers and claims survive")
    func unknownValues() throws {
        let payload = vectors.transaction(
            more: ",\"offerType\":99,\"offerDiscountType\":\"NEW\",\"later\":{\"a\":[1.5]}")
        let verified = try vectors.verifier().transaction(vectors.signer.sign(payload))
        #expect(verified.content.offerType?.rawValue == 99)
        #expect(verified.content.offerDiscountType?.rawValue == "NEW")
        #expect(verified.signed.json["later"]?["a"] == .array([.number(1.5)]))
    }

    @Test("Times are 64-bit milliseconds, and a fraction is cut off")
    func times() throws {
        let payload = vectors.transaction(
            more: ",\"revocationDate\":9007199254740993,\"originalPurchaseDate\":1698148950000.75")
        let content = try vectors.verifier().transaction(vectors.signer.sign(payload)).content
        #expect(content.revokedAt?.milliseconds == 9_007_199_254_740_993)
        #expect(content.originallyPurchasedAt?.milliseconds == 1_698_148_950_000)
    }

    @Test("Renewal information, app transactions and notifications are accepted")
    func otherKinds() throws {
        let verifier = try vectors.verifier()
        let renewal = try verifier.renewalInfo(vectors.signer.sign(vectors.renewalInfo())).content
        #expect(renewal.autoRenewStatus == .on)
        #expect(renewal.isInBillingRetry == false)
        #expect(renewal.eligibleWinBackOfferIDs == ["a", "b"])
        let app = try verifier.appTransaction(vectors.signer.sign(vectors.appTransaction()))
        #expect(app.content.originalVersion == "1.1.2")
        #expect(app.signed.signedAt.milliseconds == vectors.now)
        let text = try vectors.signer.sign(vectors.notification(try vectors.nestedData()))
        let notification = try verifier.notification(text).content
        #expect(notification.type == .subscribed)
        #expect(notification.subtype == .initialBuy)
        #expect(notification.id == "002e14d5-51f5-4503-b5a8-c3a1af68eb20")
        #expect(notification.environment == .production)
        #expect(notification.transaction?.productID == "com.example.shop.gold")
        #expect(notification.renewalInfo?.autoRenewStatus == .on)
    }

    @Test("The kind of any signed data is recognized", arguments: SignedDataKind.allCases)
    func kind(kind: SignedDataKind) throws {
        let payload =
            switch kind {
            case .transaction: vectors.transaction()
            case .renewalInfo: vectors.renewalInfo()
            case .appTransaction: vectors.appTransaction()
            case .notification: vectors.notification(vectors.data(), type: "A_TYPE_OF_THE_FUTURE")
            }
        let data = try vectors.verifier().verify(vectors.signer.sign(payload))
        #expect(data.kind == kind)
        #expect(data.signed.rawJSON == payload)
    }

    @Test("Notifications with a summary, an external purchase token and app data are accepted")
    func contents() throws {
        let verifier = try vectors.verifier()
        let summary = """
            "summary":{"environment":"Production","appAppleId":1234567890,"bundleId":"com.example.shop",\
            "requestIdentifier":"r","storefrontCountryCodes":["CAN","USA"],"succeededCount":5,"failedCount":2}
            """
        guard case .summary(let found) = try read(summary, with: verifier) else { throw TestFailure() }
        #expect(found.succeeded == 5)
        #expect(found.storefronts == ["CAN", "USA"])
        let token = """
            "externalPurchaseToken":{"externalPurchaseId":"SANDBOX_b215","tokenCreationDate":1698148950000,\
            "bundleId":"com.example.shop"}
            """
        guard case .externalPurchaseToken(let found) = try read(token, with: verifier) else { throw TestFailure() }
        #expect(found.environment == .sandbox)
        let data = """
            "appData":{"environment":"Production","appAppleId":1234567890,"bundleId":"com.example.shop",\
            "signedAppTransactionInfo":"\(try vectors.signer.sign(vectors.appTransaction()))"}
            """
        guard case .appData(let found) = try read(data, with: verifier) else { throw TestFailure() }
        #expect(found.appTransaction?.content.version == "1.2.3")
    }

    private func read(
        _ content: String, with verifier: SignedDataVerifier
    ) throws -> ServerNotification.Content {
        try verifier.notification(vectors.signer.sign(vectors.notification(content))).content.content
    }

    @Test("In the sandbox the Apple id of the app is not compared")
    func sandbox() throws {
        let verifier = try vectors.verifier(apps: [StoreApp(bundleID: "com.example.shop")])
        let payload = vectors.notification(vectors.data(appAppleID: 1, environment: "Sandbox"))
        #expect(try verifier.notification(vectors.signer.sign(payload)).content.environment == .sandbox)
    }
}

struct TestFailure: Error {}
