/// An App Store Server Notification, version 2, whose parts are verified as well.
///
/// The App Store repeats a notification with the same ``id`` until a server answers it with 200, and not always in
/// order: deduplicate by ``id``, and order by ``signedAt``.
public struct ServerNotification: Sendable {
    /// The subject of a notification.
    public enum Content: Sendable {
        /// An app, and mostly a subscription or purchase of it.
        case data(NotificationData)
        /// The result of a request to extend many renewal dates.
        case summary(RenewalExtensionSummary)
        /// A token for purchases outside of the App Store.
        case externalPurchaseToken(ExternalPurchaseToken)
        /// An app, with the user's download of it.
        case appData(NotificationAppData)
    }

    /// The event.
    public let type: NotificationType
    /// The detail of the event.
    public let subtype: NotificationSubtype?
    /// The UUID of the notification, which is the same when it is sent again.
    public let id: String
    /// The version of the format, "2.0".
    public let version: String?
    /// The time at which the App Store signed the notification.
    public let signedAt: StoreTime
    /// The subject.
    public let content: Content

    /// The bundle id of the app.
    public var bundleID: String {
        switch content {
        case .data(let data): data.bundleID
        case .summary(let summary): summary.bundleID
        case .externalPurchaseToken(let token): token.bundleID
        case .appData(let data): data.bundleID
        }
    }

    /// The Apple id of the app.
    public var appAppleID: Int64? {
        switch content {
        case .data(let data): data.appAppleID
        case .summary(let summary): summary.appAppleID
        case .externalPurchaseToken(let token): token.appAppleID
        case .appData(let data): data.appAppleID
        }
    }

    /// The environment.
    public var environment: StoreEnvironment {
        switch content {
        case .data(let data): data.environment
        case .summary(let summary): summary.environment
        case .externalPurchaseToken(let token): token.environment
        case .appData(let data): data.environment
        }
    }

    /// The transaction that the notification is about; nil if it is not about one.
    public var transaction: SignedTransaction? {
        if case .data(let data) = content { data.transaction?.content } else { nil }
    }

    /// The renewal state that the notification is about; nil if it is not about one.
    public var renewalInfo: SignedRenewalInfo? {
        if case .data(let data) = content { data.renewalInfo?.content } else { nil }
    }
}

/// The app that a notification is about, and mostly a subscription or purchase of it.
public struct NotificationData: Sendable {
    /// The environment.
    public let environment: StoreEnvironment
    /// The bundle id of the app.
    public let bundleID: String
    /// The Apple id of the app, which only production has.
    public let appAppleID: Int64?
    /// The version of the app's bundle.
    public let bundleVersion: String?
    /// The status of the subscription.
    public let status: SubscriptionStatus?
    /// The user's reason for a refund request.
    public let consumptionRequestReason: ConsumptionRequestReason?
    /// The transaction.
    public let transaction: Verified<SignedTransaction>?
    /// The state of the subscription's renewal.
    public let renewalInfo: Verified<SignedRenewalInfo>?
}

/// The app that a notification is about, with the user's download of it.
public struct NotificationAppData: Sendable {
    /// The environment.
    public let environment: StoreEnvironment
    /// The bundle id of the app.
    public let bundleID: String
    /// The Apple id of the app.
    public let appAppleID: Int64?
    /// The download of the app.
    public let appTransaction: Verified<SignedAppTransaction>?
}
