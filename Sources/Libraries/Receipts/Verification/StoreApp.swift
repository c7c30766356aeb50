/// An app whose signed data is accepted.
public struct StoreApp: Hashable, Sendable {
    /// The bundle id, as in `com.example.shop`.
    public let bundleID: String
    /// The Apple id of the app, a number that App Store Connect shows. Notifications and app transactions from
    /// production need it.
    public let appAppleID: Int64?

    /// Creates an app.
    public init(bundleID: String, appAppleID: Int64? = nil) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
    }
}
