/// CRC-32 as in Ethernet, gzip and zlib (RFC 1952, section 8).
package struct CRC32 {
    private var state: UInt32 = 0xffff_ffff

    var value: UInt32 { ~state }

    package static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var sum = CRC32()
        unsafe bytes.withUnsafeBytes { unsafe sum.add($0) }
        return sum.value
    }

    /// Eight tables of 256 values. Table k has the sum of a byte that k zero bytes follow, so that eight bytes are added
    /// with eight independent look-ups.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for index in 0..<UInt32(256) { tables.append(afterEightBits(index)) }
        for index in 256..<2048 {
            let before: UInt32 = tables[index - 256]
            tables.append(before >> 8 ^ tables[Int(before & 0xff)])
        }
        return tables
    }()

    private static func afterEightBits(_ value: UInt32) -> UInt32 {
        var value = value
        for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xedb8_8320 }
        return value
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var sum = state
        // The indices are bytes, so they are within the tables.
        unsafe Self.tables.withUnsafeBufferPointer { tables in
            var at = 0
            while bytes.count - at >= 8 {
                var word = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                word ^= UInt64(sum)
                sum = 0
                for table in (0..<8).reversed() {
                    let index = table << 8 | Int(word & 0xff)
                    sum ^= unsafe tables[index]
                    word >>= 8
                }
                at += 8
            }
            while at < bytes.count {
                let byte = unsafe UInt32(bytes[at])
                sum = unsafe sum >> 8 ^ tables[Int((sum ^ byte) & 0xff)]
                at += 1
            }
        }
        state = sum
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { unsafe add(UnsafeRawBufferPointer($0)) }
    }

    mutating func add(_ byte: UInt8) {
        state = state >> 8 ^ Self.tables[Int((state ^ UInt32(byte)) & 0xff)]
    }
}
