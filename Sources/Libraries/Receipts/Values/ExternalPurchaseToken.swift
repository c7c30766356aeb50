/// A token for purchases outside of the App Store.
public struct ExternalPurchaseToken: Hashable, Sendable {
    /// The id of the token.
    public let externalPurchaseID: String
    /// The bundle id of the app.
    public let bundleID: String
    /// The Apple id of the app.
    public let appAppleID: Int64?
    /// The time at which the token was created.
    public let createdAt: StoreTime?

    init(_ claims: ClaimReader) throws(ReceiptRefusal) {
        externalPurchaseID = try claims.required("externalPurchaseId", claims.string)
        bundleID = try claims.required("bundleId", claims.string)
        appAppleID = try claims.integer("appAppleId")
        createdAt = try claims.time("tokenCreationDate")
    }

    /// The environment, which is part of the id.
    public var environment: StoreEnvironment { externalPurchaseID.hasPrefix("SANDBOX") ? .sandbox : .production }
}
