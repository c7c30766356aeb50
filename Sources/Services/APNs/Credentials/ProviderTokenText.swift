/// The text of a provider token: a JSON Web Token with exactly the members that Apple reads
/// (Documentation/Protocols.md, "A9. Provider tokens"; RFC 7515 §3.1).
///
/// Signing happens elsewhere, so a token is made in two steps: sign ``signingInput``, then pass the signature to
/// ``text(signature:)``.
package struct ProviderTokenText: Sendable, Equatable {
    /// `header.claims`: the input of the ES256 signature.
    package let signingInput: [UInt8]

    /// Creates the text; nil unless both ids have the form of Apple's ids, which need no escaping. `issuedAt` is in
    /// seconds since 1970.
    package init?(keyID: String, teamID: String, issuedAt: Int64) {
        guard Self.isIdentifier(keyID), Self.isIdentifier(teamID) else { return nil }
        let header = "{\"alg\":\"ES256\",\"kid\":\"\(keyID)\"}"
        let claims = "{\"iss\":\"\(teamID)\",\"iat\":\(issuedAt)}"
        signingInput = Self.base64URL(header.utf8) + [UInt8(ascii: ".")] + Self.base64URL(claims.utf8)
    }

    /// Returns `header.claims.signature`, which follows `bearer` in `authorization`. The signature is R and S, 32 bytes
    /// each.
    package func text(signature: [UInt8]) -> String {
        precondition(signature.count == 64, "an ES256 signature has 64 bytes, not \(signature.count)")
        return String(decoding: signingInput + [UInt8(ascii: ".")] + Self.base64URL(signature), as: UTF8.self)
    }

    /// Whether the text has the form of a key id or a team id: ten characters of A–Z and 0–9.
    package static func isIdentifier(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { byte in
                UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Returns base64url according to RFC 4648 §5, without padding.
    private static func base64URL(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        var gathered: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            gathered = gathered << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(gathered >> bits & 63)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(gathered << (6 - bits) & 63)]) }
        return text
    }
}
