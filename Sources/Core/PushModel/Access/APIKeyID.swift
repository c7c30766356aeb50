/// The public name of an API key in requests: eight characters of `a-z 0-9`, such as `k7f3qk2m`. It is kept in one
/// machine word.
package struct APIKeyID: Hashable, Sendable, CustomStringConvertible {
    package static let length = 8

    /// The characters, the first one in the highest byte.
    package let word: UInt64

    package init?(_ text: some StringProtocol) {
        self.init(bytes: text.utf8)
    }

    /// Creates an id from its characters; nil if they are not those of an id.
    package init?(bytes: some Sequence<UInt8>) {
        self.init(bytes: Array(bytes.prefix(Self.length + 1)))
    }

    package init?(bytes: [UInt8]) {
        var word: UInt64 = 0
        var count = 0
        for byte in bytes {
            count += 1
            guard count <= Self.length, Self.isAllowed(byte) else { return nil }
            word = word << 8 | UInt64(byte)
        }
        guard count == Self.length else { return nil }
        self.word = word
    }

    /// Creates an id from random bytes, of which the first eight are used: 40 bits of randomness. A missing byte counts
    /// as zero.
    package init(random bytes: [UInt8]) {
        word = (0..<Self.length).reduce(0) { word, index in
            word << 8 | UInt64(Self.alphabet[Int(index < bytes.count ? bytes[index] & 31 : 0)])
        }
    }

    /// The characters of new ids, without those that people confuse: i, l, o and u.
    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    package var bytes: [UInt8] { (0..<Self.length).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }

    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// The name that an operator gives to an API key: 1 to 64 characters of `a-z A-Z 0-9 . _ -`.
package struct APIKeyName: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        // The rules are those of app ids, because both occur in paths and logs.
        guard AppID(text) != nil else { return nil }
        self.text = text
    }

    package var description: String { text }
}
