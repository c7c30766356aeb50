/// What a text claims about its signer before anything is verified, which is what its verification costs.
package enum ClaimedSigner: CaseIterable, Hashable, Sendable {
    /// No certificates can be read: the text is refused at once.
    case none
    /// The certificates must be verified, and then the signature.
    case unknown
    /// The certificates were verified before, and have signed something: only the signature must be verified. Anyone
    /// can have them, because they are in all data of the same signer.
    case known
}
