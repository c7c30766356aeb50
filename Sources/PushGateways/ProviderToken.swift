package import PushLoop

/// A signed provider token for the `authorization` field. It is never printed. See "Provider tokens" in
/// `Documentation/Protocols.md`.
package struct ProviderToken: Sendable {
    /// The text `header.claims.signature`, without `bearer`.
    package let text: Secret<String>
    package let keyID: String
    package let teamID: String
    /// A number that grows with each token of this process. It shows whether an answer refers to this token or an older
    /// one.
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
