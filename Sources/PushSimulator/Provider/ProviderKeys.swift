/// A key that provider tokens may be signed with.
package struct ProviderKey: Equatable, Sendable {
    package var keyID: String
    package var teamID: String
    /// Nil: a key for both environments.
    package var environment: APNsEnvironment?
    /// Bundle ids that it may push to; empty: all of the team.
    package var topics: [String]

    package init(keyID: String, teamID: String, environment: APNsEnvironment? = nil, topics: [String] = []) {
        self.keyID = keyID
        self.teamID = teamID
        self.environment = environment
        self.topics = topics
    }
}

/// Says whether the signature (R and S, 64 bytes) over the input is that of the key; nil if it has no such key.
package typealias SignatureCheck = (_ keyID: String, _ signingInput: [UInt8], _ signature: [UInt8]) -> Bool?

/// The keys that the simulated Apple knows.
struct ProviderKeys {
    let keys: [ProviderKey]
    let check: SignatureCheck?

    /// Without keys, any well-formed token of a fitting age is taken: enough to try a client out.
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
