/// Verified data of any kind.
public enum VerifiedData: Sendable {
    /// A purchase or renewal.
    case transaction(Verified<SignedTransaction>)
    /// The state of a subscription's renewal.
    case renewalInfo(Verified<SignedRenewalInfo>)
    /// The download of an app.
    case appTransaction(Verified<SignedAppTransaction>)
    /// A notification.
    case notification(Verified<ServerNotification>)

    /// The kind of the data.
    public var kind: SignedDataKind {
        switch self {
        case .transaction: .transaction
        case .renewalInfo: .renewalInfo
        case .appTransaction: .appTransaction
        case .notification: .notification
        }
    }

    /// The signed text, with all claims as JSON.
    public var signed: SignedText {
        switch self {
        case .transaction(let data): data.signed
        case .renewalInfo(let data): data.signed
        case .appTransaction(let data): data.signed
        case .notification(let data): data.signed
        }
    }

    /// Whether the certificates were checked for revocation.
    public var revocation: RevocationStatus {
        switch self {
        case .transaction(let data): data.revocation
        case .renewalInfo(let data): data.revocation
        case .appTransaction(let data): data.revocation
        case .notification(let data): data.revocation
        }
    }
}
