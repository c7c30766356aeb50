/// What a registrar remembers between two runs of the app.
struct RegistrarMemory: Sendable, Equatable, Codable {
    /// What the server knows.
    struct Registration: Sendable, Equatable, Codable {
        var token: PushToken
        var profile: DeviceProfile
        var device: String
        /// The time of the registration, in milliseconds since 1970.
        var at: Int64
    }

    /// An address besides that of the app itself.
    struct OtherAddress: Sendable, Equatable, Codable {
        struct Registration: Sendable, Equatable, Codable {
            var token: PushToken
            var profile: DeviceProfile
            var at: Int64
        }

        var purpose: TokenPurpose
        /// The token that the system gave last.
        var token: PushToken
        /// What the server knows.
        var registered: Registration?
        /// The last token that the server may have, because the answer to its registration never arrived.
        var attempted: PushToken?
        /// The token that the server has refused.
        var refused: PushToken?
    }

    /// The form of the file. Another form is read as nothing.
    var version = 1
    /// The server and app that this is about.
    var scope: String
    var registered: Registration?
    /// The tokens that the server may have, because the answer to their registration never arrived.
    var attempted: [PushToken] = []
    /// The tokens that must be removed from the server, the oldest first.
    var removals: [PushToken] = []
    /// The other addresses; nil in the file of an earlier version.
    var addresses: [OtherAddress]?
    /// The reports that the server does not have yet, the oldest first.
    var seen: [SeenReport] = []
}
