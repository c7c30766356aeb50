/// Signed data whose signature and chain hold: the text as it came, and the payload in it.
public struct SignedText: Hashable, Sendable {
    /// The signed data as it came: a JSON Web Signature in compact form. Keep it if a dispute must be settled later.
    public let original: String
    /// The payload, with all claims, also those that this library does not know.
    public let json: ReceiptJSON
    /// The time at which the App Store signed the data.
    public let signedAt: StoreTime
    let payload: [UInt8]

    /// The JSON text of the payload, byte for byte as it was signed.
    public var rawJSON: String { String(decoding: payload, as: UTF8.self) }
}
