/// The environment of the App Store that data belongs to.
public struct StoreEnvironment: OpenText {
    /// The word in the data.
    public let rawValue: String

    /// Creates a value from the word in the data.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The App Store.
    public static let production = StoreEnvironment(rawValue: "Production")
    /// The test environment, which TestFlight and App Review use as well.
    public static let sandbox = StoreEnvironment(rawValue: "Sandbox")
    /// A test in Xcode, which Apple does not sign.
    public static let xcode = StoreEnvironment(rawValue: "Xcode")
    /// A local test, which Apple does not sign.
    public static let localTesting = StoreEnvironment(rawValue: "LocalTesting")
}
