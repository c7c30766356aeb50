package import PushModel
package import Receipts

extension EventDraft {
    /// The longest text of a notification in an event, in characters. Apple's are far shorter.
    private static let maxText = 256

    /// Creates the event of a notification: its kind is Apple's type, and its members say what backends need to act.
    package init(_ notification: ServerNotification, app: AppID) {
        self.init(.receipt(ofType: notification.type.rawValue), app: app)
        add("notification_id", short: notification.id)
        add("notification_type", short: notification.type.rawValue)
        add("subtype", short: notification.subtype?.rawValue)
        add("environment", short: notification.environment.rawValue)
        add("signed_at", number: notification.signedAt.milliseconds)
        if case .data(let data) = notification.content {
            add("subscription_status", number: data.status?.rawValue)
            add("consumption_request_reason", short: data.consumptionRequestReason?.rawValue)
        }
        if case .externalPurchaseToken(let token) = notification.content {
            add("external_purchase_id", short: token.externalPurchaseID)
        }
        if case .summary(let summary) = notification.content {
            add("request_id", short: summary.requestID)
            add("product_id", short: summary.productID)
            add("succeeded", number: summary.succeeded)
            add("failed", number: summary.failed)
        }
        if let transaction = notification.transaction { add(transaction) }
        if let renewal = notification.renewalInfo {
            add("renews_at", number: renewal.renewsAt?.milliseconds)
            add("auto_renew", number: renewal.autoRenewStatus?.rawValue)
        }
    }

    private mutating func add(_ transaction: SignedTransaction) {
        add("transaction_id", short: transaction.transactionID)
        add("original_transaction_id", short: transaction.originalTransactionID)
        add("product_id", short: transaction.productID)
        add("app_account_token", short: transaction.appAccountToken)
        add("purchased_at", number: transaction.purchasedAt?.milliseconds)
        add("expires_at", number: transaction.expiresAt?.milliseconds)
        add("revoked_at", number: transaction.revokedAt?.milliseconds)
        add("price", number: transaction.price)
        add("currency", short: transaction.currency)
    }

    private mutating func add(_ name: StaticName, short text: String?) {
        add(name, text: text.map { String($0.prefix(Self.maxText)) })
    }
}
