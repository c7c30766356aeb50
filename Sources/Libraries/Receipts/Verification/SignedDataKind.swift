/// The kinds of data that the App Store signs. A kind is recognized by claims that the others do not have, so that data
/// of one kind is not accepted in place of another.
public enum SignedDataKind: String, CaseIterable, Hashable, Sendable {
    /// A purchase or renewal.
    case transaction
    /// The state of a subscription's renewal.
    case renewalInfo = "renewal_info"
    /// The download of an app.
    case appTransaction = "app_transaction"
    /// An App Store Server Notification, version 2.
    case notification

    /// Returns the kind of a payload; nil if it is another one.
    init?(of claims: ClaimReader) {
        if claims.has("notificationType") {
            self = .notification
        } else if claims.has("receiptType") {
            self = .appTransaction
        } else if claims.has("autoRenewStatus") || claims.has("autoRenewProductId") {
            self = .renewalInfo
        } else if claims.has("transactionId") {
            self = .transaction
        } else {
            return nil
        }
    }

    /// The name for messages, with its article.
    var name: String {
        switch self {
        case .transaction: "a transaction"
        case .renewalInfo: "renewal information"
        case .appTransaction: "an app transaction"
        case .notification: "a notification"
        }
    }
}
