import FoundationEssentials
import PushModel

/// Parses a device token as people paste it: hexadecimal digits in either case, with the angle brackets and spaces of old
/// logs, or base64.
///
/// Error messages do not repeat the text, because it may contain a part of a token.
enum PastedToken {
    /// The minimum number of bytes. Apple's tokens have 32 bytes and may become longer.
    static let shortest = 32

    /// Returns the token.
    ///
    /// - Parameter option: The option or place of the text, for error messages.
    static func read(_ text: String, option: String = "'--token'") throws(Failure) -> Address {
        if text.contains("length") || text.contains("…") || text.contains("...") {
            throw Failure(
                .badInput,
                "\(option) is a shortened token; let the app print every byte: "
                    + "deviceToken.map { String(format: \"%02x\", $0) }.joined()")
        }
        let bare = String(text.filter { !$0.isWhitespace && !"<>\"',:".contains($0) })
        guard !bare.isEmpty else {
            throw Failure(.badInput, "\(option) is empty; give the device token in hexadecimal digits")
        }
        let isHex = bare.utf8.allSatisfy(isDigit)
        guard let bytes = isHex ? hexadecimal(bare) : base64(bare) else {
            if isHex {
                throw Failure(
                    .badInput,
                    "\(option) has an odd number of hexadecimal digits (\(bare.utf8.count)): one is missing or extra")
            }
            throw Failure(
                .badInput,
                "\(option) is neither hexadecimal nor base64; paste the token as the app or the device's log shows it")
        }
        guard bytes.count >= shortest else {
            throw Failure(
                .badInput,
                "\(option) has \(bytes.count) bytes; a device token has \(shortest) or more, \(2 * shortest) hexadecimal digits"
            )
        }
        guard bytes.count <= Address.maxTokenLength, let token = Address(bytes: bytes) else {
            throw Failure(
                .badInput,
                "\(option) has \(bytes.count) bytes; a device token has at most \(Address.maxTokenLength)")
        }
        return token
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
        }
    }

    /// Decodes base64 in its standard and its URL alphabet, with padding or without.
    private static func base64(_ text: String) -> [UInt8]? {
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        while text.last == "=" { text.removeLast() }
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).map { Array($0) }
    }
}
