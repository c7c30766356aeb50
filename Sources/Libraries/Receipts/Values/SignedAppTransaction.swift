/// The download of an app by a user, signed by the App Store (AppTransaction).
public struct SignedAppTransaction: Hashable, Sendable {
    /// The environment.
    public let environment: StoreEnvironment
    /// The bundle id of the app.
    public let bundleID: String
    /// The Apple id of the app.
    public let appAppleID: Int64?
    /// The time at which the App Store signed the app transaction.
    public let createdAt: StoreTime
    /// The id of the user's download of the app.
    public let appTransactionID: String?
    /// The version of the app.
    public let version: String?
    /// Apple's number of the version.
    public let versionID: Int64?
    /// The version that the user first bought.
    public let originalVersion: String?
    /// The time at which the user first bought the app.
    public let originallyPurchasedAt: StoreTime?
    /// The time of the preorder.
    public let preorderedAt: StoreTime?
    /// The platform on which the user first got the app.
    public let originalPlatform: PurchasePlatform?
    /// The hash that binds the app transaction to a device, in Base64.
    public let deviceVerification: String?
    /// The UUID that is part of the hash.
    public let deviceVerificationNonce: String?

    init(_ claims: ClaimReader) throws(ReceiptRefusal) {
        environment = try claims.required("receiptType", claims.text)
        bundleID = try claims.required("bundleId", claims.string)
        appAppleID = try claims.integer("appAppleId")
        createdAt = try claims.required("receiptCreationDate", claims.time)
        appTransactionID = try claims.string("appTransactionId")
        version = try claims.string("applicationVersion")
        versionID = try claims.integer("versionExternalIdentifier")
        originalVersion = try claims.string("originalApplicationVersion")
        originallyPurchasedAt = try claims.time("originalPurchaseDate")
        preorderedAt = try claims.time("preorderDate")
        originalPlatform = try claims.text("originalPlatform")
        deviceVerification = try claims.string("deviceVerification")
        deviceVerificationNonce = try claims.string("deviceVerificationNonce")
    }
}
