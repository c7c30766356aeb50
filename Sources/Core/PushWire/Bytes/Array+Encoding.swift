/// Encoding of numbers and texts in the ledger's format: little-endian words, and varints of seven bits per byte.
extension Array<UInt8> {
    @inline(__always)
    package mutating func appendWord(_ word: UInt64) {
        unsafe Swift.withUnsafeBytes(of: word.littleEndian) { unsafe append(contentsOf: $0) }
    }

    @inline(__always)
    package mutating func appendWords(_ high: UInt64, _ low: UInt64) {
        unsafe Swift.withUnsafeBytes(of: (high.littleEndian, low.littleEndian)) { unsafe append(contentsOf: $0) }
    }

    @inline(__always)
    package mutating func appendVarint(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a number in zigzag encoding, so that small numbers of either sign are short.
    package mutating func appendSigned(_ number: Int64) {
        appendVarint(UInt64(bitPattern: number << 1 ^ number >> 63))
    }

    /// Appends the bytes without a length.
    package mutating func append(_ word: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    package mutating func appendText(_ text: String) {
        var text = text
        text.withUTF8 {
            appendVarint(UInt64($0.count))
            unsafe append(contentsOf: $0)
        }
    }

    package mutating func appendBytes(_ bytes: [UInt8]) {
        appendVarint(UInt64(bytes.count))
        append(contentsOf: bytes)
    }
}
