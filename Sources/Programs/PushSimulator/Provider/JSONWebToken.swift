import JSON5

/// A parsed provider token (RFC 7515 compact serialization). Its contents are not verified.
struct JSONWebToken {
    let keyID: String
    let issuer: String
    /// The time of issue in seconds since 1970.
    let issuedAt: Int64
    /// The signed bytes: the first two parts with the period between them.
    let signingInput: [UInt8]
    /// R and S, 32 bytes each.
    let signature: [UInt8]
    /// Whether the signature is encoded as DER. Apple accepts DER, although the standard requires the raw form.
    let isDER: Bool

    static let maxLength = 4096

    /// Parses a token. Returns nil if the form is invalid, if the algorithm is not ES256, or if `kid`, `iss` or `iat`
    /// is missing.
    init?(_ text: ByteView) {
        guard text.count <= Self.maxLength, let firstPoint = text.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        let rest = text.dropFirst(firstPoint + 1)
        guard let secondPoint = rest.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        guard let header = Self.object(text.prefix(firstPoint)), let claims = Self.object(rest.prefix(secondPoint)),
            let signature = Base64.decodeURL(rest.dropFirst(secondPoint + 1)),
            header["alg"]?.string == "ES256", let keyID = header["kid"]?.string, let issuer = claims["iss"]?.string,
            let issuedAt = claims["iat"]?.integer
        else { return nil }
        self.keyID = keyID
        self.issuer = issuer
        self.issuedAt = issuedAt
        signingInput = text.prefix(firstPoint + 1 + secondPoint).copied()
        if signature.count == 64 {
            self.signature = signature
            isDER = false
        } else if let raw = Self.raw(fromDER: signature) {
            self.signature = raw
            isDER = true
        } else {
            return nil
        }
    }

    private static func object(_ part: ByteView) -> JSONTree? {
        guard let bytes = Base64.decodeURL(part) else { return nil }
        return ByteView.lending(bytes) { view in
            guard let tree = JSONTree.strict(view), tree.members != nil else { return nil }
            return tree
        }
    }

    /// Converts SEQUENCE { INTEGER r, INTEGER s } to 64 bytes.
    private static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        ByteView.lending(der) { view in
            var reader = DERReader(view)
            guard let sequence = reader.next(), sequence.tag == 0x30, reader.isAtEnd else { return nil }
            var numbers = DERReader(sequence.content)
            guard let r = number(numbers.next()), let s = number(numbers.next()), numbers.isAtEnd else { return nil }
            return r + s
        }
    }

    private static func number(_ element: DERReader.Element?) -> [UInt8]? {
        guard let element, element.tag == 0x02 else { return nil }
        let digits = Array(element.content.copied().drop { $0 == 0 })
        return digits.count <= 32 ? Array(repeating: 0, count: 32 - digits.count) + digits : nil
    }
}
