import JSON5
import PushLoop
import PushRandom
import PushTransport

/// An App Store Server Notification of the simulated store: a request to the control port describes it.
struct StoreNotice {
    static let advice = """
        a notification is {"type": "DID_RENEW", "bundle_id": "com.example.shop", "url": "http://127.0.0.1:8470/…", \
        "times": 1, "id": UUID, "subtype", "environment", "app_apple_id", "product_id", "transaction_id", \
        "original_transaction_id", "app_account_token"}; type and bundle_id are required
        """
    static let maxTimes: Int64 = 100

    /// The address that it is sent to; nil if it is only signed.
    let address: HTTP1Address?
    /// The number of times that it is sent, one after the other.
    let times: Int
    let id: String
    private let type: String
    private let subtype: String?
    private let environment: String
    private let bundleID: String
    private let appAppleID: Int64?
    private let productID: String
    private let transactionID: String
    private let originalTransactionID: String
    private let appAccountToken: String?

    init(_ tree: JSONTree, random: inout SeededRandom) throws {
        let object = try ScriptObject(
            tree, at: "",
            keys: [
                "type", "bundle_id", "url", "times", "id", "subtype", "environment", "app_apple_id", "product_id",
                "transaction_id", "original_transaction_id", "app_account_token",
            ])
        func required(_ key: String) throws(ScriptError) -> String {
            guard let text = try object.string(key), !text.isEmpty else {
                throw object.error("this is missing", at: key)
            }
            return text
        }
        type = try required("type")
        bundleID = try required("bundle_id")
        if let url = try object.string("url") {
            guard let address = HTTP1Address(url) else {
                throw object.error("\"\(url)\" is not an http or https address", at: "url")
            }
            self.address = address
        } else {
            address = nil
        }
        times = Int(try object.integer("times", in: 1...Self.maxTimes) ?? 1)
        id = try object.string("id") ?? Self.newID(&random)
        subtype = try object.string("subtype")
        environment = try object.string("environment") ?? "Sandbox"
        appAppleID = try object.integer("app_apple_id", in: 0...(1 << 53))
        productID = try object.string("product_id") ?? "com.example.product"
        transactionID = try object.string("transaction_id") ?? String(UInt64.random(in: 1..<1 << 50, using: &random))
        originalTransactionID = try object.string("original_transaction_id") ?? transactionID
        appAccountToken = try object.string("app_account_token")
    }

    /// Returns the signed notification, with a signed transaction in it.
    func signed(with signature: StoreSignature, now: WallTime) throws -> String {
        var transaction = JSONText()
        transaction.object {
            $0.member("transactionId", string: transactionID)
            $0.member("originalTransactionId", string: originalTransactionID)
            $0.member("bundleId", string: bundleID)
            $0.member("productId", string: productID)
            $0.member("purchaseDate", number: now.milliseconds)
            $0.member("originalPurchaseDate", number: now.milliseconds)
            $0.member("expiresDate", number: now.milliseconds + 30 * 86_400_000)
            $0.member("quantity", number: 1)
            $0.member("type", string: "Auto-Renewable Subscription")
            if let appAccountToken { $0.member("appAccountToken", string: appAccountToken) }
            $0.member("inAppOwnershipType", string: "PURCHASED")
            $0.member("signedDate", number: now.milliseconds)
            $0.member("environment", string: environment)
        }
        let transactionText = try signature.sign(transaction.bytes)
        var text = JSONText()
        text.object {
            $0.member("notificationType", string: type)
            if let subtype { $0.member("subtype", string: subtype) }
            $0.member("notificationUUID", string: id)
            $0.object("data") {
                if let appAppleID { $0.member("appAppleId", number: appAppleID) }
                $0.member("bundleId", string: bundleID)
                $0.member("bundleVersion", string: "1")
                $0.member("environment", string: environment)
                $0.member("signedTransactionInfo", string: transactionText)
                $0.member("status", number: 1)
            }
            $0.member("version", string: "2.0")
            $0.member("signedDate", number: now.milliseconds)
        }
        return try signature.sign(text.bytes)
    }

    private static func newID(_ random: inout SeededRandom) -> String {
        let digits = (0..<32).map { _ in String(UInt8.random(in: 0..<16, using: &random), radix: 16) }.joined()
        var id = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { id.append("-") }
            id.append(digit)
        }
        return id
    }
}
