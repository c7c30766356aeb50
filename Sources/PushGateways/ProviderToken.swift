package import PushLoop

/// A signed statement of who sends, as `authorization` carries it (PROTOCOLS A9). Nothing prints it.
package struct ProviderToken: Sendable {
    /// `header.claims.signature`, without `bearer`.
    package let text: Secret<String>
    package let keyID: String
    package let teamID: String
    /// Counts up with each token minted in this process: an answer about an older one is not about this one.
    package let generation: UInt64
    package let mintedAt: MonotonicTime

    package init(text: Secret<String>, keyID: String, teamID: String, generation: UInt64, mintedAt: MonotonicTime) {
        self.text = text
        self.keyID = keyID
        self.teamID = teamID
        self.generation = generation
        self.mintedAt = mintedAt
    }
}
