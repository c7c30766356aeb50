public import Foundation

/// The token of a device, as lower-case hexadecimal digits. Descriptions show only its beginning.
public struct PushToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The most bytes that a token has.
    public static let maxBytes = 100

    let hex: String

    /// Takes the bytes that the system gave to the app; nil if there are none, or more than ``maxBytes``.
    public init?(_ data: Data) {
        guard (1...Self.maxBytes).contains(data.count) else { return nil }
        self.init(hex: data.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined())
    }

    /// Reads hexadecimal digits in either case, with or without spaces and angle brackets, or base64 in either alphabet.
    ///
    /// A text of hexadecimal digits is hexadecimal. With an odd number of digits it is not a token, because a digit was
    /// cut off.
    public init?(_ text: String) {
        let digits = text.filter { !"<> ".contains($0) }
        guard !digits.isEmpty, digits.utf8.count <= 4 * Self.maxBytes else { return nil }
        if digits.utf8.allSatisfy(Self.isHexDigit) {
            guard digits.utf8.count % 2 == 0, digits.utf8.count <= 2 * Self.maxBytes else { return nil }
            self.init(hex: digits.lowercased())
        } else {
            guard let data = Base64Text.decode(text) else { return nil }
            self.init(data)
        }
    }

    private init(hex: String) { self.hex = hex }

    public var description: String { "<token \(hex.prefix(6))…>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}

extension PushToken: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let token = PushToken(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "the text is not a token")
        }
        self = token
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hex)
    }
}
