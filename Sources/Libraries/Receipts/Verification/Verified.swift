package import ReceiptCrypto

/// Data from the App Store that passed every check: its values, and the signed text from which they were read.
public struct Verified<Content: Sendable>: Sendable {
    /// The values.
    public let content: Content
    /// The signed text, with all claims as JSON.
    public let signed: SignedText
    /// Whether the certificates were checked for revocation.
    public var revocation: RevocationStatus { status }

    /// The chains of the data and of the data nested in it, without duplicates.
    package let chains: [SigningChain]
    private var status = RevocationStatus.notChecked

    init(_ content: Content, signed: SignedText, chains: [SigningChain]) {
        self.content = content
        self.signed = signed
        var distinct: [SigningChain] = []
        for chain in chains where !distinct.contains(where: { $0 === chain }) { distinct.append(chain) }
        self.chains = distinct
    }

    func checked(_ status: RevocationStatus) -> Verified {
        var copy = self
        copy.status = status
        return copy
    }
}
