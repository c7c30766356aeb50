import JSON5

/// A signed assertion of a service account (RFC 7523), parsed by its own reader. Its contents are not verified.
struct FCMAssertion {
    let keyID: String?
    let issuer: String
    let audience: String
    let scopes: [Substring]
    /// Seconds since 1970.
    let issuedAt: Int64
    let expiresAt: Int64
    /// The signed bytes: the first two parts with the period between them.
    let signingInput: [UInt8]
    let signature: [UInt8]

    private static let maxLength = 8192

    /// Nil if the form is invalid, if the algorithm is not RS256, or if a claim is missing.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.maxLength, parts.count == 3, let header = Self.object(parts[0]),
            let claims = Self.object(parts[1]), let signature = Self.bytes(parts[2]),
            header["alg"]?.string == "RS256", header["typ"]?.string == "JWT", let issuer = claims["iss"]?.string,
            let audience = claims["aud"]?.string, let scope = claims["scope"]?.string,
            let issuedAt = claims["iat"]?.integer, let expiresAt = claims["exp"]?.integer
        else { return nil }
        keyID = header["kid"]?.string
        self.issuer = issuer
        self.audience = audience
        scopes = scope.split(separator: " ")
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        signingInput = Array("\(parts[0]).\(parts[1])".utf8)
        self.signature = signature
    }

    private static func bytes(_ part: Substring) -> [UInt8]? {
        ByteView.lending(Array(part.utf8)) { Base64.decodeURL($0) }
    }

    private static func object(_ part: Substring) -> JSONTree? {
        guard let bytes = bytes(part) else { return nil }
        return ByteView.lending(bytes) { view in
            guard let tree = JSONTree.strict(view), tree.members != nil else { return nil }
            return tree
        }
    }
}
