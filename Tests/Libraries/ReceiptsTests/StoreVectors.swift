import ReceiptCrypto
import Receipts
import TestSupport

/// Payloads as the App Store signs them, and a verifier that trusts the signer of the tests.
struct StoreVectors {
    static let app = StoreApp(bundleID: "com.example.shop", appAppleID: 1_234_567_890)

    let signer: StoreSigner
    let now: Int64

    init(signer: StoreSigner = .shared, now: Int64 = StoreSigner.now()) {
        self.signer = signer
        self.now = now
    }

    func verifier(
        apps: [StoreApp] = [app], environments: Set<StoreEnvironment> = [.production, .sandbox], cachedChains: Int = 32
    ) throws -> SignedDataVerifier {
        SignedDataVerifier(
            apps: apps, environments: environments, roots: try TrustedRoots(der: [signer.root.certificate.der]),
            cachedChains: cachedChains)
    }

    func transaction(
        bundleID: String = "com.example.shop", environment: String = "Production", signedAt: Int64? = nil,
        more: String = ""
    ) -> String {
        """
        {"transactionId":"2000000123456789","originalTransactionId":"2000000100000000","bundleId":"\(bundleID)",\
        "productId":"com.example.shop.gold","purchaseDate":1698148900000,"expiresDate":1700740900000,"quantity":1,\
        "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED","signedDate":\(signedAt ?? now),\
        "environment":"\(environment)","transactionReason":"PURCHASE","storefront":"USA","storefrontId":"143441",\
        "price":9990,"currency":"USD"\(more)}
        """
    }

    func renewalInfo(environment: String = "Production") -> String {
        """
        {"originalTransactionId":"2000000100000000","autoRenewProductId":"com.example.shop.gold",\
        "productId":"com.example.shop.gold","autoRenewStatus":1,"isInBillingRetryPeriod":false,"signedDate":\(now),\
        "environment":"\(environment)","renewalDate":1700740900000,"eligibleWinBackOfferIds":["a","b"]}
        """
    }

    func appTransaction(appAppleID: Int64 = 1_234_567_890, environment: String = "Production") -> String {
        """
        {"receiptType":"\(environment)","appAppleId":\(appAppleID),"bundleId":"com.example.shop",\
        "applicationVersion":"1.2.3","versionExternalIdentifier":512,"receiptCreationDate":\(now),\
        "originalPurchaseDate":1698148800000,"originalApplicationVersion":"1.1.2","originalPlatform":"iOS"}
        """
    }

    func data(
        bundleID: String = "com.example.shop", appAppleID: Int64 = 1_234_567_890, environment: String = "Production",
        more: String = ""
    ) -> String {
        """
        "data":{"environment":"\(environment)","appAppleId":\(appAppleID),"bundleId":"\(bundleID)",\
        "bundleVersion":"1.2.3","status":1\(more)}
        """
    }

    func notification(_ content: String, type: String = "SUBSCRIBED") -> String {
        """
        {"notificationType":"\(type)","subtype":"INITIAL_BUY","notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1af68eb20",\
        "version":"2.0","signedDate":\(now),\(content)}
        """
    }

    /// Returns the `data` of a notification with a signed transaction and renewal.
    func nestedData(transaction: String? = nil, renewalInfo: String? = nil) throws -> String {
        let transaction = try transaction ?? signer.sign(self.transaction())
        let renewalInfo = try renewalInfo ?? signer.sign(self.renewalInfo())
        return data(
            more: ",\"signedTransactionInfo\":\"\(transaction)\",\"signedRenewalInfo\":\"\(renewalInfo)\"")
    }
}

/// Returns the code with which the operation is refused; nil if it is not.
func refusal(_ body: () throws -> some Any) -> ReceiptRefusal.Code? {
    do {
        _ = try body()
        return nil
    } catch let error as ReceiptRefusal {
        return error.code
    } catch {
        return nil
    }
}
