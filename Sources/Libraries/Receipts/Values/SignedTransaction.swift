/// A purchase or renewal, signed by the App Store (JWSTransactionDecodedPayload).
public struct SignedTransaction: Hashable, Sendable {
    /// The id of the transaction. It is unique, and fit for deduplication.
    public let transactionID: String
    /// The id of the first transaction of the subscription, or of the purchase that was restored.
    public let originalTransactionID: String?
    /// The bundle id of the app.
    public let bundleID: String
    /// The product.
    public let productID: String?
    /// The type of the product.
    public let type: ProductType?
    /// The number of consumables.
    public let quantity: Int64?
    /// The environment.
    public let environment: StoreEnvironment
    /// The time at which the App Store signed the transaction.
    public let signedAt: StoreTime
    /// The time of the purchase or renewal.
    public let purchasedAt: StoreTime?
    /// The time of the first purchase.
    public let originallyPurchasedAt: StoreTime?
    /// The time at which the subscription expires or renews.
    public let expiresAt: StoreTime?
    /// The time of the refund or revocation.
    public let revokedAt: StoreTime?
    /// The reason of the refund.
    public let revocationReason: RevocationReason?
    /// The extent of the refund.
    public let revocationType: RevocationType?
    /// The refunded part of the price, in thousandths of a percent.
    public let revocationPercentage: Int64?
    /// Whether the user changed to a higher subscription.
    public let isUpgraded: Bool?
    /// Whether the user or their family bought the product.
    public let ownership: OwnershipType?
    /// The cause of the transaction.
    public let reason: TransactionReason?
    /// The group of the subscription.
    public let subscriptionGroup: String?
    /// The id of the purchase event across devices.
    public let webOrderLineItemID: String?
    /// The UUID that the app set, to find the user.
    public let appAccountToken: String?
    /// The id of the user's download of the app.
    public let appTransactionID: String?
    /// The type of the offer.
    public let offerType: OfferType?
    /// The offer or offer code.
    public let offerID: String?
    /// The payment of the offer.
    public let offerDiscountType: OfferDiscountType?
    /// The duration of the offer, as in ISO 8601.
    public let offerPeriod: String?
    /// The price in thousandths of the currency.
    public let price: Int64?
    /// The currency, as in ISO 4217.
    public let currency: String?
    /// The country of the store, with three letters.
    public let storefront: String?
    /// Apple's number of the store.
    public let storefrontID: String?
    /// The billing of the subscription.
    public let billingPlan: BillingPlanType?

    init(_ claims: ClaimReader) throws(ReceiptRefusal) {
        transactionID = try claims.required("transactionId", claims.string)
        originalTransactionID = try claims.string("originalTransactionId")
        bundleID = try claims.required("bundleId", claims.string)
        productID = try claims.string("productId")
        type = try claims.text("type")
        quantity = try claims.integer("quantity")
        environment = try claims.required("environment", claims.text)
        signedAt = try claims.required("signedDate", claims.time)
        purchasedAt = try claims.time("purchaseDate")
        originallyPurchasedAt = try claims.time("originalPurchaseDate")
        expiresAt = try claims.time("expiresDate")
        revokedAt = try claims.time("revocationDate")
        revocationReason = try claims.number("revocationReason")
        revocationType = try claims.text("revocationType")
        revocationPercentage = try claims.integer("revocationPercentage")
        isUpgraded = try claims.boolean("isUpgraded")
        ownership = try claims.text("inAppOwnershipType")
        reason = try claims.text("transactionReason")
        subscriptionGroup = try claims.string("subscriptionGroupIdentifier")
        webOrderLineItemID = try claims.string("webOrderLineItemId")
        appAccountToken = try claims.string("appAccountToken")
        appTransactionID = try claims.string("appTransactionId")
        offerType = try claims.number("offerType")
        offerID = try claims.string("offerIdentifier")
        offerDiscountType = try claims.text("offerDiscountType")
        offerPeriod = try claims.string("offerPeriod")
        price = try claims.integer("price")
        currency = try claims.string("currency")
        storefront = try claims.string("storefront")
        storefrontID = try claims.string("storefrontId")
        billingPlan = try claims.text("billingPlanType")
    }

    /// Whether the App Store refunded or revoked the purchase. The user has no right to the product any more.
    public var isRevoked: Bool { revokedAt != nil }
}
