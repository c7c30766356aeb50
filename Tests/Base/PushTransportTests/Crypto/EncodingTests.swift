import PushTransport
import Testing

@Suite struct EncodingTests {
    /// The examples of RFC 4648, section 10, without padding, and the characters of the URL alphabet.
    @Test(
        "Base64url encodes and decodes the examples",
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"), ("<<???>>", "PDw_Pz8-Pg"),
        ])
    func base64url(_ plain: String, _ encoded: String) {
        #expect(Base64URL.encode(plain) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test(
        "Base64url decoding is strict",
        arguments: ["Z", "Zg==", "Zh", "Zm9", "Zm9vY", "PDw/Pz8+Pg", "Zm 8", "Zm8\n", "Zm8é", "Zm8="])
    func base64urlIsStrict(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("All bytes survive encoding and decoding") func allBytesThereAndBack() {
        let all = Array(UInt8.min...UInt8.max)
        for length in 0...all.count {
            let bytes = Array(all.suffix(length))
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        }
    }

    @Test("Hexadecimal encodes and decodes") func hexadecimal() {
        #expect(Hex.encode([0x00, 0x0F, 0xA5, 0xFF]) == "000fa5ff")
        #expect(Hex.decode("000FA5ff") == [0x00, 0x0F, 0xA5, 0xFF])
        for wrong in ["0", "0g", "0x", " 00", "00 ", "é"] {
            #expect(Hex.decode(wrong) == nil)
        }
    }
}
