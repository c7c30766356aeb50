import PushRandom

/// A UUID as the identifier of a notification: `apns-id`, `apns-request-id` or `apns-unique-id`.
package struct MessageID: Hashable, Sendable {
    /// The sixteen bytes in order. The first byte of each word is its least significant one.
    package let first: UInt64
    package let second: UInt64
    /// Whether the id was written in capital letters. It is returned in the same case.
    package let isUppercase: Bool

    static let textLength = 36

    init(first: UInt64, second: UInt64, isUppercase: Bool) {
        self.first = first
        self.second = second
        self.isUppercase = isUppercase
    }

    /// Parses the form 8-4-4-4-12, in either case.
    package init?(_ text: ByteView) {
        let dash = UInt8(ascii: "-")
        guard text.count == Self.textLength, text[8] == dash, text[13] == dash, text[18] == dash, text[23] == dash
        else { return nil }
        let words = (
            text.word(at: 0), UInt64(text.halfWord(at: 9)) | UInt64(text.halfWord(at: 14)) << 32,
            UInt64(text.halfWord(at: 19)) | UInt64(text.halfWord(at: 24)) << 32, text.word(at: 28)
        )
        guard let a = Hex.bytes(words.0), let b = Hex.bytes(words.1), let c = Hex.bytes(words.2),
            let d = Hex.bytes(words.3)
        else { return nil }
        first = UInt64(a) | UInt64(b) << 32
        second = UInt64(c) | UInt64(d) << 32
        // Letters have bit 6 set; lowercase letters have bit 5 set as well.
        @inline(__always) func capitals(_ word: UInt64) -> UInt64 {
            word & ~(word << 1) & 0x4040_4040_4040_4040
        }
        @inline(__always) func smalls(_ word: UInt64) -> UInt64 { word & (word << 1) & 0x4040_4040_4040_4040 }
        let hasCapitals = capitals(words.0) | capitals(words.1) | capitals(words.2) | capitals(words.3) != 0
        let hasSmalls = smalls(words.0) | smalls(words.1) | smalls(words.2) | smalls(words.3) != 0
        isUppercase = hasCapitals && !hasSmalls
    }

    /// Returns a random id (RFC 9562, version 4), in capital letters like the ids that Apple generates.
    static func random(_ generator: inout SeededRandom) -> MessageID {
        let first = generator.next() & 0xff0f_ffff_ffff_ffff | 0x0040_0000_0000_0000
        let second = generator.next() & 0xffff_ffff_ffff_ff3f | 0x0000_0000_0000_0080
        return MessageID(first: first, second: second, isUppercase: true)
    }

    /// Writes the 36 characters of the id.
    @inline(__always)
    func write(to text: UnsafeMutableRawPointer) {
        let a = Hex.digits(UInt32(truncatingIfNeeded: first), uppercase: isUppercase)
        let b = Hex.digits(UInt32(truncatingIfNeeded: first >> 32), uppercase: isUppercase)
        let c = Hex.digits(UInt32(truncatingIfNeeded: second), uppercase: isUppercase)
        let d = Hex.digits(UInt32(truncatingIfNeeded: second >> 32), uppercase: isUppercase)
        let dash = UInt8(ascii: "-")
        unsafe text.storeBytes(of: a.littleEndian, as: UInt64.self)
        unsafe text.storeBytes(of: dash, toByteOffset: 8, as: UInt8.self)
        unsafe text.storeBytes(of: UInt32(truncatingIfNeeded: b).littleEndian, toByteOffset: 9, as: UInt32.self)
        unsafe text.storeBytes(of: dash, toByteOffset: 13, as: UInt8.self)
        unsafe text.storeBytes(of: UInt32(truncatingIfNeeded: b >> 32).littleEndian, toByteOffset: 14, as: UInt32.self)
        unsafe text.storeBytes(of: dash, toByteOffset: 18, as: UInt8.self)
        unsafe text.storeBytes(of: UInt32(truncatingIfNeeded: c).littleEndian, toByteOffset: 19, as: UInt32.self)
        unsafe text.storeBytes(of: dash, toByteOffset: 23, as: UInt8.self)
        unsafe text.storeBytes(of: UInt32(truncatingIfNeeded: c >> 32).littleEndian, toByteOffset: 24, as: UInt32.self)
        unsafe text.storeBytes(of: d.littleEndian, toByteOffset: 28, as: UInt64.self)
    }

    package var text: [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: Self.textLength) { buffer, count in
            unsafe write(to: UnsafeMutableRawPointer(buffer.baseAddress!))
            count = Self.textLength
        }
    }

    /// Compares ids without regard to their case.
    package static func == (left: MessageID, right: MessageID) -> Bool {
        left.first == right.first && left.second == right.second
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(first)
        hasher.combine(second)
    }
}
