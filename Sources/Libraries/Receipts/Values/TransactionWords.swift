/// The type of a product.
public struct ProductType: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A subscription that renews itself.
    public static let autoRenewableSubscription = ProductType(rawValue: "Auto-Renewable Subscription")
    /// A product that is bought once.
    public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
    /// A product that is used up.
    public static let consumable = ProductType(rawValue: "Consumable")
    /// A subscription that ends.
    public static let nonRenewingSubscription = ProductType(rawValue: "Non-Renewing Subscription")
}

/// The relation of the user to the purchase.
public struct OwnershipType: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The user bought the product.
    public static let purchased = OwnershipType(rawValue: "PURCHASED")
    /// A member of the user's family bought the product.
    public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")
}

/// The cause of a transaction.
public struct TransactionReason: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The user bought something.
    public static let purchase = TransactionReason(rawValue: "PURCHASE")
    /// The App Store renewed a subscription.
    public static let renewal = TransactionReason(rawValue: "RENEWAL")
}

/// The payment of an offer.
public struct OfferDiscountType: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A free trial.
    public static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
    /// A lower price for each period.
    public static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
    /// One payment at the beginning.
    public static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
    /// One payment.
    public static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")
}

/// The type of an offer.
public struct OfferType: OpenNumber {
    /// The number in the data.
    public let rawValue: Int64

    /// Creates a value from the number in the data.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// An introductory offer.
    public static let introductory = OfferType(rawValue: 1)
    /// A promotional offer.
    public static let promotional = OfferType(rawValue: 2)
    /// An offer code.
    public static let code = OfferType(rawValue: 3)
    /// An offer for former subscribers.
    public static let winBack = OfferType(rawValue: 4)
}

/// The extent of a refund or revocation.
public struct RevocationType: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The whole price was refunded.
    public static let fullRefund = RevocationType(rawValue: "REFUND_FULL")
    /// A part of the price was refunded.
    public static let proratedRefund = RevocationType(rawValue: "REFUND_PRORATED")
    /// Family sharing ended.
    public static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
}

/// The reason of a refund.
public struct RevocationReason: OpenNumber {
    /// The number in the data.
    public let rawValue: Int64

    /// Creates a value from the number in the data.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Another reason.
    public static let other = RevocationReason(rawValue: 0)
    /// A problem of the app.
    public static let appIssue = RevocationReason(rawValue: 1)
}

/// The billing of a subscription.
public struct BillingPlanType: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The user pays each month.
    public static let monthly = BillingPlanType(rawValue: "MONTHLY")
    /// The user pays at the beginning.
    public static let upFront = BillingPlanType(rawValue: "BILLED_UPFRONT")
}

/// The platform on which the user first got the app.
public struct PurchasePlatform: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// iPhone and iPad.
    public static let iOS = PurchasePlatform(rawValue: "iOS")
    /// Mac.
    public static let macOS = PurchasePlatform(rawValue: "macOS")
    /// Apple TV.
    public static let tvOS = PurchasePlatform(rawValue: "tvOS")
    /// Apple Vision.
    public static let visionOS = PurchasePlatform(rawValue: "visionOS")
}
