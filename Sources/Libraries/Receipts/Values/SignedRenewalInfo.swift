/// The state of a subscription's renewal, signed by the App Store (JWSRenewalInfoDecodedPayload). It does not name its
/// app.
public struct SignedRenewalInfo: Hashable, Sendable {
    /// The id of the first transaction of the subscription.
    public let originalTransactionID: String
    /// The environment.
    public let environment: StoreEnvironment
    /// The time at which the App Store signed the information.
    public let signedAt: StoreTime
    /// The product.
    public let productID: String?
    /// The product of the next period.
    public let renewalProductID: String?
    /// Whether the subscription will renew.
    public let autoRenewStatus: AutoRenewStatus?
    /// The time of the renewal.
    public let renewsAt: StoreTime?
    /// The price of the next period, in thousandths of the currency.
    public let renewalPrice: Int64?
    /// The currency, as in ISO 4217.
    public let currency: String?
    /// The reason why the subscription expired.
    public let expirationIntent: ExpirationIntent?
    /// Whether the App Store tries a failed payment again.
    public let isInBillingRetry: Bool?
    /// The time until which the user keeps access after a failed payment.
    public let gracePeriodExpiresAt: StoreTime?
    /// The user's consent to a price increase.
    public let priceIncreaseStatus: PriceIncreaseStatus?
    /// The begin of the latest run of periods without a gap of more than 60 days.
    public let recentSubscriptionStartedAt: StoreTime?
    /// The type of the offer.
    public let offerType: OfferType?
    /// The offer or offer code.
    public let offerID: String?
    /// The payment of the offer.
    public let offerDiscountType: OfferDiscountType?
    /// The duration of the offer, as in ISO 8601.
    public let offerPeriod: String?
    /// The offers for which a former subscriber is eligible, the best first.
    public let eligibleWinBackOfferIDs: [String]?
    /// The UUID that the app set, to find the user.
    public let appAccountToken: String?
    /// The id of the user's download of the app.
    public let appTransactionID: String?
    /// The billing of the next period.
    public let billingPlan: BillingPlanType?

    init(_ claims: ClaimReader) throws(ReceiptRefusal) {
        originalTransactionID = try claims.required("originalTransactionId", claims.string)
        environment = try claims.required("environment", claims.text)
        signedAt = try claims.required("signedDate", claims.time)
        productID = try claims.string("productId")
        renewalProductID = try claims.string("autoRenewProductId")
        autoRenewStatus = try claims.number("autoRenewStatus")
        renewsAt = try claims.time("renewalDate")
        renewalPrice = try claims.integer("renewalPrice")
        currency = try claims.string("currency")
        expirationIntent = try claims.number("expirationIntent")
        isInBillingRetry = try claims.boolean("isInBillingRetryPeriod")
        gracePeriodExpiresAt = try claims.time("gracePeriodExpiresDate")
        priceIncreaseStatus = try claims.number("priceIncreaseStatus")
        recentSubscriptionStartedAt = try claims.time("recentSubscriptionStartDate")
        offerType = try claims.number("offerType")
        offerID = try claims.string("offerIdentifier")
        offerDiscountType = try claims.text("offerDiscountType")
        offerPeriod = try claims.string("offerPeriod")
        eligibleWinBackOfferIDs = try claims.strings("eligibleWinBackOfferIds")
        appAccountToken = try claims.string("appAccountToken")
        appTransactionID = try claims.string("appTransactionId")
        billingPlan = try claims.text("renewalBillingPlanType")
    }
}
