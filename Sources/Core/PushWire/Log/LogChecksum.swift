package import PushTime

/// The 32-bit checksum of a segment. It detects damage and rows under the wrong number; it is not a defense against
/// attackers.
package enum LogChecksum {
    static let length = 4

    /// Returns the checksum. O(bytes), sixteen at a time.
    package static func of(_ bytes: UnsafeRawBufferPointer, first: UInt64, count: Int, time: WallTime) -> UInt32 {
        var hash = mix(
            first ^ 0xa076_1d64_78bd_642f, with: UInt64(bitPattern: time.milliseconds) ^ 0xe703_7ed1_a0b4_28db)
        hash = mix(hash ^ UInt64(truncatingIfNeeded: count), with: UInt64(bytes.count) ^ 0x8ebc_6af0_9c88_c6e3)
        var offset = 0
        while bytes.count - offset >= 16 {
            hash = unsafe mix(hash ^ bytes.word(at: offset), with: bytes.word(at: offset + 8) ^ 0x5899_65cc_7537_4cc3)
            offset += 16
        }
        var tail: (UInt64, UInt64) = (0, 0)
        for index in offset..<bytes.count {
            if index - offset < 8 {
                unsafe tail.0 |= UInt64(bytes[index]) << UInt64(8 * (index - offset))
            } else {
                unsafe tail.1 |= UInt64(bytes[index]) << UInt64(8 * (index - offset - 8))
            }
        }
        hash = mix(hash ^ tail.0, with: tail.1 ^ 0x1d8e_4e27_c47d_124f)
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    @inline(__always)
    private static func mix(_ one: UInt64, with other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }
}
