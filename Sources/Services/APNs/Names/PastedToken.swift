package import PushModel
package import PushWire

/// Parses a device token as people paste it: hexadecimal digits in either case, with the angle brackets and spaces of old
/// logs, or base64.
package enum PastedToken {
    /// The minimum number of bytes. Apple's tokens have 32 bytes and may become longer.
    package static let shortest = 32

    package static func read(_ text: String) throws(AddressFault) -> Address {
        if text.contains("length") || text.contains("…") || text.contains("...") {
            throw AddressFault(
                "is a shortened token; let the app print every byte: "
                    + "deviceToken.map { String(format: \"%02x\", $0) }.joined()")
        }
        let bare = text.filter { !$0.isWhitespace && !"<>\"',:".contains($0) }
        guard !bare.isEmpty else { throw AddressFault("is empty; give the device token in hexadecimal digits") }
        let isHex = bare.utf8.allSatisfy { HexDigits.value(of: $0) != nil }
        if isHex, !bare.utf8.count.isMultiple(of: 2) {
            throw AddressFault("has an odd number of hexadecimal digits (\(bare.utf8.count)): one is missing or extra")
        }
        let token = Address(text: bare)
        guard let count = isHex ? bare.utf8.count / 2 : token?.byteCount else {
            throw AddressFault(
                "is neither hexadecimal nor base64; paste the token as the app or the device's log shows it")
        }
        guard count >= shortest else {
            throw AddressFault(
                "has \(count) bytes; a device token has \(shortest) or more, \(2 * shortest) hexadecimal digits")
        }
        guard let token else {
            throw AddressFault("has \(count) bytes; a device token has at most \(Address.maxTokenLength)")
        }
        return token
    }
}
