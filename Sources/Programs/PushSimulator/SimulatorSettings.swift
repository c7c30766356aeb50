/// The behavior of the simulated Apple push service before a script or command changes it.
package struct SimulatorSettings: Equatable, Sendable {
    /// The keys that may sign provider tokens. If empty, any well-formed token of an acceptable age is accepted.
    package var keys: [ProviderKey] = []
    package var tokens = ProviderTokenPolicy()
    /// Whether a request needs a provider token, or its connection a client certificate. Load tests that send neither
    /// turn this off.
    package var requiresAuthentication = true
    /// Whether a token connection starts with one stream and gets the full limit with the first valid token, as at
    /// Apple.
    package var beginsWithOneStream = true
    /// The value of SETTINGS_MAX_CONCURRENT_STREAMS. Apple's value was between 500 and 1500.
    package var streamLimit: UInt32 = 1000
    /// The bundle ids with the broadcast capability. Nil: all apps have it.
    package var broadcastApps: [String]?
    /// The maximum number of channels per app and environment. Apple allows 10,000.
    package var channelLimit = 10_000
    /// The maximum number of records to keep. Each takes 96 bytes, and 48 more for its id.
    package var records = 1_000_000
    /// The maximum number of payload bytes to keep for the records.
    package var retainedBytes = 64 << 20
    /// The maximum number of Live Activities to keep, each with up to 8 kB.
    package var activityLimit = 10_000
    /// The seed for the ids that the simulator generates.
    package var seed: UInt64 = 1

    package init() {}
}
