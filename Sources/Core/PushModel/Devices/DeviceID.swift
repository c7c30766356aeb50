/// The name of a device where its token must not appear: a keyed hash of app and token that never changes.
package struct DeviceID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package static let textLength = 32
    /// No device.
    package static let none = DeviceID(high: 0, low: 0)

    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates an id from 32 hexadecimal digits in lower case; nil for any other text.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.textLength else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for digit in text.utf8 {
            guard let value = HexDigits.value(of: digit), !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit)
            else {
                return nil
            }
            words.0 = words.0 << 4 | words.1 >> 60
            words.1 = words.1 << 4 | UInt64(value)
        }
        self.init(high: words.0, low: words.1)
    }

    /// Creates an id from the digits in a buffer.
    package init?(hexBytes digits: UnsafeRawBufferPointer) {
        guard digits.count == Self.textLength, let start = digits.baseAddress,
            let high = unsafe HexDigits.word(at: start), let low = unsafe HexDigits.word(at: start + 16)
        else { return nil }
        // Capital letters are the only digits without bit 0x20.
        guard unsafe digits.allSatisfy({ $0 & 0x20 != 0 }) else { return nil }
        self.init(high: high, low: low)
    }

    /// A hash for tables that live as long as one request.
    package func tableHash(seed: UInt64) -> UInt64 { TableHash.of(high: high, low: low, seed: seed) }

    package static func < (left: DeviceID, right: DeviceID) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }

    /// Writes the 32 digits.
    ///
    /// - Important: `text` must have room for ``textLength`` bytes.
    package func write(into text: UnsafeMutableRawPointer) {
        unsafe HexDigits.write(high, into: text)
        unsafe HexDigits.write(low, into: text + 16)
    }

    package var description: String {
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.textLength, alignment: 8) { text in
            unsafe write(into: text.baseAddress!)
            return unsafe String(decoding: text, as: UTF8.self)
        }
    }
}
