/// Decimal digits, written without an intermediate `String`, eight at a time in one register.
package enum DecimalText {
    /// The number of bytes that ``write(_:into:)`` may overwrite: the digits of any number and the excess of their last
    /// word.
    static let room = 28

    package static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        append(number.magnitude, to: &bytes)
    }

    package static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(byteCount: room, alignment: 8) { text in
            let length = unsafe write(number, into: text.baseAddress!)
            unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[..<length]))
        }
    }

    /// Writes the digits and returns their number. `text` must have ``room`` bytes.
    static func write(_ number: UInt64, into text: UnsafeMutableRawPointer) -> Int {
        guard number >= 100_000_000 else {
            let digits = eightDigits(of: number)
            // The lowest bytes are the leading zeros; at least one digit remains.
            let zeros = min(7, (digits ^ 0x3030_3030_3030_3030).trailingZeroBitCount / 8)
            unsafe text.storeBytes(of: (digits >> UInt64(8 * zeros)).littleEndian, as: UInt64.self)
            return 8 - zeros
        }
        let (front, back) = number.quotientAndRemainder(dividingBy: 100_000_000)
        let length = unsafe write(front, into: text)
        unsafe (text + length).storeBytes(of: eightDigits(of: back).littleEndian, as: UInt64.self)
        return length + 8
    }

    /// Returns the eight digits of a number below 10^8, the first in the lowest byte.
    private static func eightDigits(of number: UInt64) -> UInt64 {
        // Split into two halves of four digits, then four of two, then eight of one; the factors divide by 100 and 10.
        var x = number / 10000 | (number % 10000) << 32
        let hundreds = ((x &* 5243) >> 19) & 0x0000_007f_0000_007f
        x = hundreds | (x &- hundreds &* 100) << 16
        let tens = ((x &* 103) >> 10) & 0x000f_000f_000f_000f
        x = tens | (x &- tens &* 10) << 8
        return x | 0x3030_3030_3030_3030
    }
}
