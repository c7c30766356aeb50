import JSON5
import PushTransport

/// The field `authorization` of a push request (RFC 8292), with the claims of its token.
struct VAPIDAuthorization {
    /// The public key of the sender: an uncompressed point.
    let key: [UInt8]
    let audience: String
    let subject: String
    /// Seconds since 1970.
    let expiresAt: Double

    private static let maxLength = 4096
    private static let maxLifetime: Double = 86_400

    /// Parses the field and verifies the signature of the token.
    init(_ field: String) throws(WebPushRefusal) {
        guard field.utf8.count <= Self.maxLength else { throw .unauthorized("the header Authorization is too long") }
        let (token, keyText) = try Self.parameters(field)
        guard let key = Self.bytes(keyText[...], isPadded: true) else {
            throw .unauthorized("the parameter k is not Base64URL")
        }
        let publicKey: ES256PublicKey
        do throws(CryptoError) {
            publicKey = try ES256PublicKey(point: key)
        } catch {
            throw .unauthorized("the parameter k is not an uncompressed point on P-256")
        }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Self.bytes(parts[2])
        else { throw .unauthorized("the parameter t is not a JSON Web Token") }
        guard header["alg"]?.string == "ES256", header["typ"] == nil || header["typ"]?.string == "JWT" else {
            throw .unauthorized("the token is not a JWT with the algorithm ES256")
        }
        guard publicKey.verify(Array("\(parts[0]).\(parts[1])".utf8), signature: signature) else {
            throw .unauthorized("the signature of the token is not valid for the key in k")
        }
        guard let audience = claims["aud"]?.string else { throw .unauthorized("the claim aud is missing") }
        guard let expiresAt = claims["exp"]?.number else {
            throw .unauthorized("the claim exp is missing or not a number")
        }
        guard let subject = claims["sub"]?.string else { throw .unauthorized("the claim sub is missing") }
        self.key = key
        self.audience = audience
        self.expiresAt = expiresAt
        self.subject = subject
    }

    /// Checks the claims of a token whose signature is valid.
    func check(origin: String, now seconds: Int64) throws(WebPushRefusal) {
        guard audience == origin else { throw .unauthorized("the claim aud is not the origin of the push service") }
        let left = expiresAt - Double(seconds)
        guard left > 0 else { throw .unauthorized("the token has expired") }
        guard left <= Self.maxLifetime else { throw .unauthorized("the claim exp is more than 24 hours ahead") }
        guard ["mailto:", "https:"].contains(where: { subject.hasPrefix($0) && subject.count > $0.count }) else {
            throw .unauthorized("the claim sub is neither a mailto: nor an https: address")
        }
    }

    /// Whether Apple would refuse the contact: it must be an address outside of this machine.
    var hasLocalSubject: Bool { subject.hasSuffix("localhost") || subject.contains("//localhost") }

    /// Returns the values of the parameters t and k.
    private static func parameters(_ field: String) throws(WebPushRefusal) -> (token: String, key: String) {
        let words = field.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "vapid" else {
            throw .unauthorized("the header Authorization does not begin with vapid")
        }
        var values: [Substring: String] = [:]
        for part in words[1].split(separator: ",") {
            let pieces = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = pieces[0].drop { $0 == " " }
            guard pieces.count == 2, ["t", "k"].contains(name) else { continue }
            guard values[name] == nil else { throw .unauthorized("the parameter \(name) occurs twice") }
            values[name] = String(pieces[1].filter { $0 != " " })
        }
        guard let token = values["t"], let key = values["k"] else {
            throw .unauthorized("the header Authorization has not both parameters t and k")
        }
        return (token, key)
    }

    private static func bytes(_ part: Substring, isPadded: Bool = false) -> [UInt8]? {
        var text = Array(part.utf8)
        while isPadded, text.last == UInt8(ascii: "=") { text.removeLast() }
        return ByteView.lending(text) { Base64.decodeURL($0) }
    }

    private static func object(_ part: Substring) -> JSONTree? {
        guard let bytes = bytes(part) else { return nil }
        return ByteView.lending(bytes) { view in
            guard let tree = JSONTree.strict(view), tree.members != nil else { return nil }
            return tree
        }
    }
}
