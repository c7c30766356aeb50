import PushTransport
import Testing

@Suite struct DigestTests {
    /// The examples of FIPS 180-4.
    @Test(
        "SHA-256 matches the examples of FIPS 180-4",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func sha256(_ text: String, _ hex: String) {
        #expect(SHA256.hash(text).hex == hex)
    }

    @Test("One hasher can hash many messages") func oneHasherServesManyMessages() {
        var hasher = SHA256Hasher()
        for _ in 0..<3 {
            hasher.update(Array("ab".utf8))
            hasher.update([])
            hasher.update(Array("c".utf8))
            #expect(hasher.finish() == SHA256.hash("abc"))
        }
        #expect(hasher.finish() == SHA256.hash(""))
    }

    /// RFC 4231, test cases 1 to 4, 6 and 7.
    @Test(
        "HMAC matches the test cases of RFC 4231",
        arguments: [
            (
                [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                Array(1...25), [UInt8](repeating: 0xCD, count: 50),
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131),
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131),
                Array(
                    ("This is a test using a larger than block-size key and a larger than block-size data. "
                        + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
            ),
        ])
    func hmac(_ key: [UInt8], _ message: [UInt8], _ hex: String) {
        #expect(HMACSHA256.authenticate(message, key: key).hex == hex)
        var mac = HMACSHA256(key: key)
        for _ in 0..<3 {
            #expect(mac.authenticate(message).hex == hex)
            #expect(mac.authenticate(message + [0]).hex != hex)
        }
    }

    @Test("HMAC works with an empty key") func hmacWithoutAKey() {
        let expected = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
        #expect(HMACSHA256.authenticate([], key: []).hex == expected)
    }

    @Test("Digests compare by value") func digestsCompare() throws {
        let one = SHA256.hash("one")
        #expect(Digest256(one.bytes) == one)
        #expect(Digest256([1, 2, 3]) == nil)
        #expect(one.equalsInConstantTime(SHA256.hash("one")))
        for index in 0..<32 {
            var bytes = one.bytes
            bytes[index] ^= 0x80
            let other = try #require(Digest256(bytes))
            #expect(!one.equalsInConstantTime(other))
            #expect(one != other)
        }
        #expect(Set([one, SHA256.hash("one"), SHA256.hash("two")]).count == 2)
    }

    @Test("Random bytes differ") func randomBytesDiffer() {
        #expect(SecureRandom.bytes(0).isEmpty)
        #expect(SecureRandom.bytes(32).count == 32)
        #expect(Set((0..<100).map { _ in SecureRandom.bytes(16) }).count == 100)
    }
}
