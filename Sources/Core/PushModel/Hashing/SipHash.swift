/// SipHash with a secret key, for short inputs that strangers choose: nobody without the key can construct a collision.
/// It takes whole words only, since all its inputs consist of words or are padded to them.
package struct SipHash: Sendable {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var words: UInt64 = 0

    /// - Parameter isWide: Whether the result has 128 bits.
    package init(key: (UInt64, UInt64), isWide: Bool = false) {
        v0 = key.0 ^ 0x736f_6d65_7073_6575
        v1 = key.1 ^ 0x646f_7261_6e64_6f6d ^ (isWide ? 0xee : 0)
        v2 = key.0 ^ 0x6c79_6765_6e65_7261
        v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    @inline(__always)
    private mutating func round() {
        v0 = v0 &+ v1
        v1 = (v1 << 13 | v1 >> 51) ^ v0
        v0 = v0 << 32 | v0 >> 32
        v2 = v2 &+ v3
        v3 = (v3 << 16 | v3 >> 48) ^ v2
        v0 = v0 &+ v3
        v3 = (v3 << 21 | v3 >> 43) ^ v0
        v2 = v2 &+ v1
        v1 = (v1 << 17 | v1 >> 47) ^ v2
        v2 = v2 << 32 | v2 >> 32
    }

    @inline(__always)
    package mutating func add(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
        words &+= 1
    }

    /// Adds the bytes, padded with zeros, and their number, so that texts of different lengths never hash alike.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var at = 0
        while at + 8 <= bytes.count {
            add(unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
            at += 8
        }
        var last: UInt64 = 0
        var shift: UInt64 = 0
        while at < bytes.count {
            last |= unsafe UInt64(bytes[at]) << shift
            shift += 8
            at += 1
        }
        add(last)
        add(UInt64(bytes.count))
    }

    package mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { unsafe add(UnsafeRawBufferPointer($0)) }
    }

    package mutating func add(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe add($0) }
    }

    package consuming func hash64() -> UInt64 {
        add(words << 59)
        v2 ^= 0xff
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    /// Returns the result of 128 bits.
    ///
    /// - Important: The hash must have been created with `isWide`.
    package consuming func hash128() -> (UInt64, UInt64) {
        add(words << 59)
        v2 ^= 0xee
        for _ in 0..<4 { round() }
        let first = v0 ^ v1 ^ v2 ^ v3
        v1 ^= 0xdd
        for _ in 0..<4 { round() }
        return (first, v0 ^ v1 ^ v2 ^ v3)
    }
}
