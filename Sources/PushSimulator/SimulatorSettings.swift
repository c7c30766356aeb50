/// How the simulated Apple behaves before any script or command changes it.
package struct SimulatorSettings: Equatable, Sendable {
    /// Keys that provider tokens may be signed with. None: any well-formed token of a fitting age is taken.
    package var keys: [ProviderKey] = []
    package var tokens = ProviderTokenPolicy()
    /// Whether a request needs a provider token or its connection a certificate. Off for load tests that send neither.
    package var requiresAuthentication = true
    /// Token connections begin with one stream and get the full limit with the first valid token, as Apple does it.
    package var beginsWithOneStream = true
    /// SETTINGS_MAX_CONCURRENT_STREAMS. Apple's has been 500 to 1500.
    package var streamLimit: UInt32 = 1000
    /// Bundle ids with the broadcast capability; nil: all have it.
    package var broadcastApps: [String]?
    /// Channels per app and environment. Apple allows 10,000.
    package var channelLimit = 10_000
    /// How many records to keep. Each takes 96 bytes, and 48 more for its id.
    package var records = 1_000_000
    /// How many bytes of payloads to keep for them.
    package var retainedBytes = 64 << 20
    /// For ids that the simulator makes up.
    package var seed: UInt64 = 1

    package init() {}
}
