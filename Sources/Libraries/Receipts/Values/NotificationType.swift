/// The event that a notification reports.
public struct NotificationType: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The user subscribed.
    public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
    /// The user chose another plan.
    public static let didChangeRenewalPreference = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// The user turned renewal on or off.
    public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// The user redeemed an offer.
    public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
    /// A subscription renewed.
    public static let didRenew = NotificationType(rawValue: "DID_RENEW")
    /// A subscription expired.
    public static let expired = NotificationType(rawValue: "EXPIRED")
    /// A payment failed.
    public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
    /// The time for a failed payment is over.
    public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
    /// The App Store informed the user of a price increase.
    public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
    /// The price of a subscription changed.
    public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
    /// The App Store refunded a purchase.
    public static let refund = NotificationType(rawValue: "REFUND")
    /// The App Store declined a refund.
    public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
    /// The App Store reversed a refund.
    public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
    /// The App Store asks for facts about a purchase, for a refund.
    public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
    /// The renewal date of one subscription was extended.
    public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
    /// The renewal dates of many subscriptions are being extended.
    public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
    /// Family sharing of a purchase ended.
    public static let revoke = NotificationType(rawValue: "REVOKE")
    /// A test that the developer requested.
    public static let test = NotificationType(rawValue: "TEST")
    /// A token for purchases outside of the App Store.
    public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// The user bought something that does not renew.
    public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
    /// A parent withdrew consent for the app.
    public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
    /// The metadata of a subscription changed.
    public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
    /// A subscription was migrated.
    public static let migration = NotificationType(rawValue: "MIGRATION")
}
