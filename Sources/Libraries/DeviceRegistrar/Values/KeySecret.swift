import Foundation

/// The secret of an API key: 32 bytes, which sign requests. It never appears in descriptions.
public struct KeySecret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    /// Reads the text that `carillon keys api add` shows: base64url of 32 bytes; nil if it is another text.
    public init?(_ text: String) {
        guard let data = Base64Text.decode(text), data.count == 32 else { return nil }
        bytes = Array(data)
    }

    public var description: String { "<secret>" }
    public var debugDescription: String { "<secret>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Base64 in both alphabets, with and without padding.
enum Base64Text {
    static func decode(_ text: String) -> Data? {
        let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        guard text.utf8.count - digits.count <= 2 else { return nil }
        var plain = digits.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        guard plain.count % 4 != 1 else { return nil }
        plain += repeatElement(UInt8(ascii: "="), count: (4 - plain.count % 4) % 4)
        return Data(base64Encoded: Data(plain))
    }
}
