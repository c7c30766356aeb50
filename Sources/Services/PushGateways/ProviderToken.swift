package import PushLoop

/// A token that authorizes the requests of an app, for the `authorization` field. It is never printed.
package struct ProviderToken: Sendable {
    /// The text behind the scheme of the field, such as `bearer`.
    package let text: Secret<String>
    /// A number that grows with each token of this process. It shows whether an answer refers to this token or an older
    /// one.
    package let generation: UInt64
    package let mintedAt: MonotonicTime

    package init(text: Secret<String>, generation: UInt64, mintedAt: MonotonicTime) {
        self.text = text
        self.generation = generation
        self.mintedAt = mintedAt
    }
}
