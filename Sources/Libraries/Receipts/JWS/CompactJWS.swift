/// A JSON Web Signature in its compact form (RFC 7515, section 7.1), decoded and not verified.
///
/// Only the header is parsed. The payload stays bytes, and must not be parsed before the signature holds.
struct CompactJWS {
    /// The maximum lengths of encoded text. A notification with a transaction and its renewal has about 20 KiB.
    static let maxLength = 256 * 1024
    static let maxHeaderLength = 24 * 1024

    /// The text up to the second dot, which the signature covers.
    let signedText: ArraySlice<UInt8>
    let header: SigningHeader
    /// The payload, decoded from Base64URL.
    let payload: [UInt8]
    /// The two numbers of the signature, 32 bytes each.
    let signature: [UInt8]

    /// Returns the header alone, without reading the rest; nil if there is none.
    static func header(of text: String) -> SigningHeader? {
        let segment = Array(text.utf8.prefix(maxHeaderLength + 1).prefix { $0 != UInt8(ascii: ".") })
        guard segment.count <= maxHeaderLength else { return nil }
        return try? SigningHeader(decode(segment[...], as: "header"))
    }

    init(_ text: String) throws(ReceiptRefusal) {
        guard text.utf8.count <= Self.maxLength else {
            throw ReceiptRefusal(
                .tooLong,
                "The signed data has \(text.utf8.count) bytes; at most \(Self.maxLength) are read.")
        }
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy({ $0 < 0x80 }) else {
            throw ReceiptRefusal(.notASCII, "The signed data has a character that is not ASCII.")
        }
        let segments = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard segments.count == 3 else {
            throw ReceiptRefusal(
                .wrongSegmentCount,
                segments.count == 1
                    ? "The text is not signed data: it has no dots; signed data has three segments between dots."
                    : "The signed data has \(segments.count) segments between dots; it must have three.")
        }
        guard segments[0].count <= Self.maxHeaderLength else {
            throw ReceiptRefusal(
                .tooLong,
                "The header has \(segments[0].count) bytes; at most \(Self.maxHeaderLength) are read.")
        }
        header = try SigningHeader(Self.decode(segments[0], as: "header"))
        payload = try Self.decode(segments[1], as: "payload")
        signature = try Self.decode(segments[2], as: "signature")
        guard signature.count == 64 else {
            throw ReceiptRefusal(
                .malformedSignature,
                "The signature has \(signature.count) bytes; ES256 has two numbers of 32 bytes each"
                    + (signature.first == 0x30 ? ", not DER." : "."))
        }
        signedText = bytes[..<segments[1].endIndex]
    }

    private static func decode(_ segment: ArraySlice<UInt8>, as part: String) throws(ReceiptRefusal) -> [UInt8] {
        if let bytes = StrictBase64.decodeURL(segment) { return bytes }
        guard segment.last != UInt8(ascii: "=") else {
            throw ReceiptRefusal(.paddedBase64, "The \(part) has padding (=), which signed data must not have.")
        }
        throw ReceiptRefusal(.malformedBase64, "The \(part) is not Base64URL.")
    }
}
