package import PushModel

/// The credential of an `Authorization: Bearer KEYID.SECRET` field.
package struct BearerCredential: Sendable {
    /// The named key; nil for a text that is not an id, so that it names no key.
    package let keyID: APIKeyID?
    /// The secret in Base64URL, as sent.
    package let secret: String

    private static let scheme = Array("bearer".utf8)
    private static let maxLength = 200

    /// Parses the values of the `Authorization` fields. Returns nil if none has the scheme `Bearer`.
    package static func read(_ fields: [String]) throws(SignatureFault) -> BearerCredential? {
        var found: BearerCredential?
        for field in fields {
            let bytes = field.utf8
            let scheme = bytes.prefix { $0 != UInt8(ascii: " ") }
            guard scheme.count == Self.scheme.count, zip(scheme, Self.scheme).allSatisfy({ $0 | 0x20 == $1 }) else {
                continue
            }
            let rest = bytes[scheme.endIndex...].drop { $0 == UInt8(ascii: " ") }
            guard found == nil, bytes.count <= maxLength, let dot = rest.firstIndex(of: UInt8(ascii: ".")) else {
                throw .malformedBearer
            }
            found = BearerCredential(
                keyID: APIKeyID(bytes: Array(rest[..<dot])),
                secret: String(decoding: rest[rest.index(after: dot)...], as: UTF8.self))
        }
        return found
    }
}
