/// The rules for receipts that Apple's server verifies.
public struct VerifyReceiptPolicy: Sendable {
    /// The apps whose receipts are accepted.
    public var apps: [StoreApp]
    /// The environments whose receipts are accepted. App Review uses the sandbox, also with versions of the app that
    /// are in the store.
    public var environments: Set<StoreEnvironment>
    /// The maximum number of requests that repeat an earlier one.
    public var maxRetries = 3
    /// The pause before the first repetition. Each further pause is twice as long.
    public var firstPause = Duration.seconds(1)
    /// The longest pause.
    public var maxPause = Duration.seconds(30)

    /// Creates rules.
    public init(apps: [StoreApp], environments: Set<StoreEnvironment> = [.production, .sandbox]) {
        self.apps = apps
        self.environments = environments
    }
}
