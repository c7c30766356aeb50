/// A key that may sign provider tokens.
package struct ProviderKey: Equatable, Sendable {
    package var keyID: String
    package var teamID: String
    /// The environment of the key. Nil: both environments.
    package var environment: APNsEnvironment?
    /// The bundle ids that the key may push to. Empty: all apps of the team.
    package var topics: [String]

    package init(keyID: String, teamID: String, environment: APNsEnvironment? = nil, topics: [String] = []) {
        self.keyID = keyID
        self.teamID = teamID
        self.environment = environment
        self.topics = topics
    }
}

/// Returns whether the signature (R and S, 64 bytes) over the input is valid for the key; nil if the key is unknown.
package typealias SignatureCheck = (_ keyID: String, _ signingInput: [UInt8], _ signature: [UInt8]) -> Bool?

/// The keys that the simulated Apple push service knows.
struct ProviderKeys {
    let keys: [ProviderKey]
    let check: SignatureCheck?

    /// Whether no keys are configured. Then any well-formed token of an acceptable age is accepted, which suffices to
    /// try out a client.
    var isOpen: Bool { keys.isEmpty }

    func index(of keyID: String) -> Int? { keys.firstIndex { $0.keyID == keyID } }

    func allows(_ topic: ByteView, baseLength: Int, key: Int?) -> Bool {
        guard let key, !keys[key].topics.isEmpty else { return true }
        let base = topic.prefix(baseLength)
        return keys[key].topics.contains { name in
            ByteView.lending(Array(name.utf8)) { $0.equals(base) || $0.equals(topic) }
        }
    }
}
