/// SHA-256 (FIPS 180-4), in Swift alone, so that the sources compile wherever Foundation does.
///
/// It is for signatures of small requests and for checksums. It does not run in constant time for messages of different
/// lengths, and needs not to: lengths are public.
package struct SHA256Digest: Sendable {
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    private var block: [UInt8] = []
    private var count: UInt64 = 0

    package init() { block.reserveCapacity(64) }

    /// Returns the digest of bytes.
    package static func of(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var digest = SHA256Digest()
        digest.update(bytes)
        return digest.finish()
    }

    /// Returns the first bytes of the digest of bytes, as hexadecimal digits.
    package static func text(of bytes: some Sequence<UInt8>, count: Int) -> String {
        of(bytes).prefix(count).map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    }

    package mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            block.append(byte)
            if block.count == 64 { compress() }
            count &+= 1
        }
    }

    package mutating func finish() -> [UInt8] {
        let bits = count &* 8
        block.append(0x80)
        if block.count > 56 {
            block.append(contentsOf: repeatElement(0, count: 64 - block.count))
            compress()
        }
        block.append(contentsOf: repeatElement(0, count: 56 - block.count))
        block.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) })
        compress()
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) } }
    }

    /// Returns HMAC-SHA-256 (RFC 2104).
    package static func authenticationCode(of message: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        var padded = key.count > 64 ? of(key) : key
        padded += repeatElement(0, count: 64 - padded.count)
        var inner = SHA256Digest()
        inner.update(padded.map { $0 ^ 0x36 })
        inner.update(message)
        return of(padded.map { $0 ^ 0x5c } + inner.finish())
    }

    private mutating func compress() {
        var words = [UInt32](repeating: 0, count: 64)
        for index in 0..<16 {
            words[index] = block[(4 * index)..<(4 * index + 4)].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (early, late) = (words[index - 15], words[index - 2])
            let first = Self.turned(early, by: 7) ^ Self.turned(early, by: 18) ^ (early >> 3)
            let second = Self.turned(late, by: 17) ^ Self.turned(late, by: 19) ^ (late >> 10)
            words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let high = Self.turned(e, by: 6) ^ Self.turned(e, by: 11) ^ Self.turned(e, by: 25)
            let first = h &+ high &+ ((e & f) ^ (~e & g)) &+ Self.constants[index] &+ words[index]
            let low = Self.turned(a, by: 2) ^ Self.turned(a, by: 13) ^ Self.turned(a, by: 22)
            let second = low &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        for (index, value) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= value }
        block.removeAll(keepingCapacity: true)
    }

    private static func turned(_ word: UInt32, by bits: UInt32) -> UInt32 { word >> bits | word << (32 - bits) }

    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
