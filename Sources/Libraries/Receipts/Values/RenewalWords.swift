/// The reason why a subscription expired.
public struct ExpirationIntent: OpenNumber {
    /// The number in the data.
    public let rawValue: Int64

    /// Creates a value from the number in the data.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The user canceled.
    public static let canceled = ExpirationIntent(rawValue: 1)
    /// A payment failed.
    public static let billingError = ExpirationIntent(rawValue: 2)
    /// The user did not consent to a price increase.
    public static let priceIncrease = ExpirationIntent(rawValue: 3)
    /// The product was not for sale at the renewal.
    public static let notForSale = ExpirationIntent(rawValue: 4)
    /// Another reason.
    public static let other = ExpirationIntent(rawValue: 5)
}

/// Whether a subscription will renew.
public struct AutoRenewStatus: OpenNumber {
    /// The number in the data.
    public let rawValue: Int64

    /// Creates a value from the number in the data.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// It will not renew.
    public static let off = AutoRenewStatus(rawValue: 0)
    /// It will renew.
    public static let on = AutoRenewStatus(rawValue: 1)
}

/// The user's consent to a price increase.
public struct PriceIncreaseStatus: OpenNumber {
    /// The number in the data.
    public let rawValue: Int64

    /// Creates a value from the number in the data.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The user has not responded.
    public static let pending = PriceIncreaseStatus(rawValue: 0)
    /// The user consented, or consent was not needed.
    public static let consented = PriceIncreaseStatus(rawValue: 1)
}

/// The status of a subscription.
public struct SubscriptionStatus: OpenNumber {
    /// The number in the data.
    public let rawValue: Int64

    /// Creates a value from the number in the data.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// It is active.
    public static let active = SubscriptionStatus(rawValue: 1)
    /// It has expired.
    public static let expired = SubscriptionStatus(rawValue: 2)
    /// A payment failed and is tried again.
    public static let billingRetry = SubscriptionStatus(rawValue: 3)
    /// A payment failed, and the user keeps access for a while.
    public static let gracePeriod = SubscriptionStatus(rawValue: 4)
    /// It was revoked or refunded.
    public static let revoked = SubscriptionStatus(rawValue: 5)
}
