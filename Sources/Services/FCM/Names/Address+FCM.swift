import PushModel
import PushWire

/// The addresses of FCM: a registration token, or the id of a Firebase installation. Both are opaque.
///
/// Google replaces tokens by installation ids. An app that changes over registers both for a while, and the token begins
/// with the installation id: `FID:…`. Such a token and the bare id are addresses of one device, which therefore gets a
/// message once. Nothing else is concluded from the form of a token.
extension Address {
    /// The length of an installation id: 17 bytes in base64url.
    private static let installationIDLength = 22

    /// Whether the bytes are an installation id: 22 characters of base64url, the first of them from c to f, because
    /// the id begins with the bits 0111.
    static func isInstallationID(_ bytes: some Collection<UInt8>) -> Bool {
        guard bytes.count == installationIDLength, let first = bytes.first else { return false }
        return (UInt8(ascii: "c")...UInt8(ascii: "f")).contains(first) && bytes.allSatisfy(isBase64URL)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    static func ofFCM(_ bytes: [UInt8]) throws(AddressFault) -> Address {
        guard !bytes.isEmpty else { throw AddressFault("is empty") }
        guard bytes.count <= maxLength else {
            throw AddressFault("has \(bytes.count) bytes; \(maxLength) are allowed")
        }
        guard bytes.allSatisfy(isAllowed) else {
            throw AddressFault(
                "has a space, a quotation mark or another character that registration tokens and installation ids do "
                    + "not have")
        }
        let hasIdentity =
            bytes.count > installationIDLength + 1 && bytes[installationIDLength] == UInt8(ascii: ":")
            && isInstallationID(bytes.prefix(installationIDLength))
        let address =
            hasIdentity
            ? Address(bytes: bytes, identifiedByFirst: installationIDLength) : Address(bytes: bytes)
        guard let address else { throw AddressFault("is not an address") }
        return address
    }

    /// Whether a token may have the character: printable ASCII that JSON does not escape.
    static func isAllowed(_ byte: UInt8) -> Bool {
        (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Whether a token may have these characters. It looks at all of them, many at a time.
    static func areAllowed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var refused: UInt8 = 0
        for index in 0..<bytes.count { refused |= unsafe isAllowed(bytes[index]) ? 0 : 1 }
        return refused == 0
    }
}
