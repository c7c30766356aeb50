import Testing

@testable import PushModel

@Suite struct SipHashTests {
    /// The vectors of the reference implementation for inputs of whole words: the bytes 0, 1, 2 … with the key 00 01 …
    /// 0f.
    @Test(
        arguments: [
            0x726f_db47_dd0e_0e31, 0x93f5_f579_9a93_2462, 0x3f2a_cc7f_57c2_9bdb, 0xb8ad_50c6_f649_af94,
            0x7127_512f_72f2_7cce, 0x0e3e_a96b_5304_a7d0, 0xe612_a3cb_9ecb_a951, 0xb78d_bfaf_3a8d_83bd,
        ].enumerated().map { ($0, $1) } as [(Int, UInt64)])
    func `Hashes of whole words equal those of the reference implementation`(words: Int, expected: UInt64) {
        #expect(Self.hash(words, isWide: false).hash64() == expected)
    }

    @Test(
        arguments: [
            (0, 0xe6a8_25ba_047f_81a3, 0x9302_55c7_1472_f66d), (1, 0x61f5_5862_baa9_623b, 0xb497_14f3_64e2_830f),
            (2, 0xbb54_b067_caa4_e26e, 0x7705_2385_bf15_33fd),
        ] as [(Int, UInt64, UInt64)])
    func `Wide hashes equal those of the reference implementation`(words: Int, first: UInt64, second: UInt64) {
        let hash = Self.hash(words, isWide: true).hash128()
        #expect(hash.0 == first)
        #expect(hash.1 == second)
    }

    private static func hash(_ words: Int, isWide: Bool) -> SipHash {
        var hash = SipHash(key: (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908), isWide: isWide)
        for word in 0..<UInt64(words) {
            hash.add((0..<8).reduce(UInt64(0)) { $0 | (word * 8 + $1) << (8 * $1) })
        }
        return hash
    }

    @Test(arguments: 0...41)
    func `Bytes of any length are padded with zeros and followed by their number`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: 0xff &- $0 &* 7) }
        var expected = SipHash(key: (1, 2))
        for start in stride(from: 0, through: count, by: 8) {
            expected.add(bytes[start..<min(start + 8, count)].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
        expected.add(UInt64(count))
        var hash = SipHash(key: (1, 2))
        hash.add(bytes)
        #expect(hash.hash64() == expected.hash64())
    }

    @Test func `Texts that differ in length or in their boundaries have different hashes`() {
        func hash(_ texts: String...) -> UInt64 {
            var hash = SipHash(key: (1, 2))
            for text in texts { hash.add(text) }
            return hash.hash64()
        }
        let all = [
            hash(), hash(""), hash("", ""), hash("a"), hash("a\0"), hash("a", ""), hash("", "a"), hash("ab"),
            hash("a", "b"), hash("abcdefgh"), hash("abcdefgh\0"), hash("abcdefg", "h"), hash("abcdefghi"),
        ]
        #expect(Set(all).count == all.count)
    }
}
