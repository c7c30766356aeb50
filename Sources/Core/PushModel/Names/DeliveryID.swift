/// The id of a delivery: a UUID that is the same on every attempt.
package struct DeliveryID: Hashable, Sendable, CustomStringConvertible {
    package static let textLength = 36

    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates an id from its canonical form, 8-4-4-4-12 digits in either case; nil for any other text.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.textLength else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for (index, byte) in text.utf8.enumerated() {
            if [8, 13, 18, 23].contains(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let value = HexDigits.value(of: byte) else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(value)
        }
        self.init(high: high, low: low)
    }

    /// Writes the 36 characters.
    ///
    /// - Important: `text` must have room for ``textLength`` bytes.
    package func write(into text: UnsafeMutableRawPointer) {
        let a = HexDigits.of(UInt32(truncatingIfNeeded: high >> 32)).bigEndian
        let b = HexDigits.of(UInt32(truncatingIfNeeded: high)).bigEndian
        let c = HexDigits.of(UInt32(truncatingIfNeeded: low >> 32)).bigEndian
        let d = HexDigits.of(UInt32(truncatingIfNeeded: low)).bigEndian
        let dash = UInt8(ascii: "-")
        unsafe text.storeBytes(of: a, as: UInt64.self)
        unsafe (text + 8).storeBytes(of: dash, as: UInt8.self)
        unsafe (text + 9).storeBytes(of: UInt32(truncatingIfNeeded: b), as: UInt32.self)
        unsafe (text + 13).storeBytes(of: dash, as: UInt8.self)
        unsafe (text + 14).storeBytes(of: UInt32(truncatingIfNeeded: b >> 32), as: UInt32.self)
        unsafe (text + 18).storeBytes(of: dash, as: UInt8.self)
        unsafe (text + 19).storeBytes(of: UInt32(truncatingIfNeeded: c), as: UInt32.self)
        unsafe (text + 23).storeBytes(of: dash, as: UInt8.self)
        unsafe (text + 24).storeBytes(of: UInt32(truncatingIfNeeded: c >> 32), as: UInt32.self)
        unsafe (text + 28).storeBytes(of: d, as: UInt64.self)
    }

    package var description: String {
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.textLength, alignment: 8) { text in
            unsafe write(into: text.baseAddress!)
            return unsafe String(decoding: text, as: UTF8.self)
        }
    }
}
