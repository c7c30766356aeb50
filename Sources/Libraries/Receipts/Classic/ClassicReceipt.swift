/// A receipt that Apple's server has verified, as its response describes it.
public struct ClassicReceipt: Hashable, Sendable {
    /// The environment that answered, to which the receipt belongs.
    public let environment: StoreEnvironment
    /// The bundle id of the app.
    public let bundleID: String
    /// The version of the app.
    public let version: String?
    /// The time at which the App Store created the receipt.
    public let createdAt: StoreTime?
    /// The purchases in the receipt, and the latest ones of its subscriptions, each once.
    public let transactions: [ClassicTransaction]
    /// The newest receipt, in Base64; nil if the receipt has no subscriptions.
    public let latestReceipt: String?
    /// The whole response.
    public let json: ReceiptJSON
    let body: [UInt8]

    /// The response, byte for byte.
    public var rawJSON: String { String(decoding: body, as: UTF8.self) }
}

/// A purchase in a receipt that Apple's server has verified.
public struct ClassicTransaction: Hashable, Sendable {
    /// The id of the transaction.
    public let transactionID: String
    /// The id of the first transaction of the subscription, or of the purchase that was restored.
    public let originalTransactionID: String?
    /// The product.
    public let productID: String?
    /// The time of the purchase or renewal.
    public let purchasedAt: StoreTime?
    /// The time at which the subscription expires or renews.
    public let expiresAt: StoreTime?
    /// The time of the refund or revocation; nil if there was none.
    public let cancelledAt: StoreTime?

    init?(_ json: ReceiptJSON) {
        guard let transactionID = Self.text(json["transaction_id"]) else { return nil }
        self.transactionID = transactionID
        originalTransactionID = Self.text(json["original_transaction_id"])
        productID = Self.text(json["product_id"])
        purchasedAt = Self.time(json["purchase_date_ms"])
        // Receipts in the style of iOS 6 have milliseconds in expires_date.
        expiresAt = Self.time(json["expires_date_ms"]) ?? Self.time(json["expires_date"])
        cancelledAt = Self.time(json["cancellation_date_ms"])
    }

    /// Returns a text, or the digits of a number: old receipts have numbers where newer ones have strings.
    private static func text(_ json: ReceiptJSON?) -> String? {
        json?.string ?? json?.integer.map { "\($0)" }
    }

    static func time(_ json: ReceiptJSON?) -> StoreTime? {
        (json?.integer ?? json?.string.flatMap { Int64($0) }).map { StoreTime(milliseconds: $0) }
    }
}
