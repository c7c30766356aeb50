/// The result of a request to extend the renewal dates of many subscriptions.
public struct RenewalExtensionSummary: Hashable, Sendable {
    /// The environment.
    public let environment: StoreEnvironment
    /// The bundle id of the app.
    public let bundleID: String
    /// The Apple id of the app.
    public let appAppleID: Int64?
    /// The UUID of the request.
    public let requestID: String?
    /// The product.
    public let productID: String?
    /// The countries, with three letters each; nil for all.
    public let storefronts: [String]?
    /// The number of subscriptions that were extended.
    public let succeeded: Int64?
    /// The number of subscriptions that were not extended.
    public let failed: Int64?

    init(_ claims: ClaimReader) throws(ReceiptRefusal) {
        environment = try claims.required("environment", claims.text)
        bundleID = try claims.required("bundleId", claims.string)
        appAppleID = try claims.integer("appAppleId")
        requestID = try claims.string("requestIdentifier")
        productID = try claims.string("productId")
        storefronts = try claims.strings("storefrontCountryCodes")
        succeeded = try claims.integer("succeededCount")
        failed = try claims.integer("failedCount")
    }
}
