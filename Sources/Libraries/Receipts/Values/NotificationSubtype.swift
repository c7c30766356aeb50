/// The detail of a notification's type.
public struct NotificationSubtype: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The subtype `INITIAL_BUY`.
    public static let initialBuy = NotificationSubtype(rawValue: "INITIAL_BUY")
    /// The subtype `RESUBSCRIBE`.
    public static let resubscribe = NotificationSubtype(rawValue: "RESUBSCRIBE")
    /// The subtype `DOWNGRADE`.
    public static let downgrade = NotificationSubtype(rawValue: "DOWNGRADE")
    /// The subtype `UPGRADE`.
    public static let upgrade = NotificationSubtype(rawValue: "UPGRADE")
    /// The subtype `AUTO_RENEW_ENABLED`.
    public static let autoRenewEnabled = NotificationSubtype(rawValue: "AUTO_RENEW_ENABLED")
    /// The subtype `AUTO_RENEW_DISABLED`.
    public static let autoRenewDisabled = NotificationSubtype(rawValue: "AUTO_RENEW_DISABLED")
    /// The subtype `VOLUNTARY`.
    public static let voluntary = NotificationSubtype(rawValue: "VOLUNTARY")
    /// The subtype `BILLING_RETRY`.
    public static let billingRetry = NotificationSubtype(rawValue: "BILLING_RETRY")
    /// The subtype `PRICE_INCREASE`.
    public static let priceIncrease = NotificationSubtype(rawValue: "PRICE_INCREASE")
    /// The subtype `GRACE_PERIOD`.
    public static let gracePeriod = NotificationSubtype(rawValue: "GRACE_PERIOD")
    /// The subtype `PENDING`.
    public static let pending = NotificationSubtype(rawValue: "PENDING")
    /// The subtype `ACCEPTED`.
    public static let accepted = NotificationSubtype(rawValue: "ACCEPTED")
    /// The subtype `BILLING_RECOVERY`.
    public static let billingRecovery = NotificationSubtype(rawValue: "BILLING_RECOVERY")
    /// The subtype `PRODUCT_NOT_FOR_SALE`.
    public static let productNotForSale = NotificationSubtype(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// The subtype `SUMMARY`.
    public static let summary = NotificationSubtype(rawValue: "SUMMARY")
    /// The subtype `FAILURE`.
    public static let failure = NotificationSubtype(rawValue: "FAILURE")
    /// The subtype `UNREPORTED`.
    public static let unreported = NotificationSubtype(rawValue: "UNREPORTED")
}

/// The user's reason for a refund request.
public struct ConsumptionRequestReason: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The user did not intend the purchase.
    public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
    /// The product did not arrive.
    public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
    /// The user is not satisfied.
    public static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
    /// A legal reason.
    public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
    /// Another reason.
    public static let other = ConsumptionRequestReason(rawValue: "OTHER")
}
