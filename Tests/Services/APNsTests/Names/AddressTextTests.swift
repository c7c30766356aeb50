import PushModel
import PushWire
import TestSupport
import Testing

@testable import APNs

@Suite struct AddressTextTests {
    private static let bytes: [UInt8] = (0..<32).map { 7 &* $0 &+ 250 }
    private static let token = Address(bytes: bytes)!

    @Test(arguments: [
        "fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3",
        "FA01080F161D242B323940474E555C636A71787F868D949BA2A9B0B7BEC5CCD3",
        "fa01080f 161d242b 32394047 4e555c63 6a71787f 868d949b a2a9b0b7 bec5ccd3",
        "<fa01080f 161d242b 32394047 4e555c63 6a71787f 868d949b a2a9b0b7 bec5ccd3>",
        "+gEIDxYdJCsyOUBHTlVcY2pxeH+GjZSboqmwt77FzNM=", "+gEIDxYdJCsyOUBHTlVcY2pxeH+GjZSboqmwt77FzNM",
        "-gEIDxYdJCsyOUBHTlVcY2pxeH-GjZSboqmwt77FzNM", "-gEIDxYdJCsyOUBHTlVcY2pxeH-GjZSboqmwt77FzNM=",
    ])
    func `Every form in which apps send a token is read`(text: String) {
        #expect(Address(text: text) == Self.token)
    }

    @Test(arguments: [
        "", " ", "<>", "<", ">", "<ab", "ab>", "<<ab>>", "abc", "a", "zz zz", "<+gEI>", "ab=", "abcd=", "=", "==",
        "====",
        "-gEIDxYdJCsyOUBHTlVcY2pxeH+GjZSboqmwt77FzNM=", "+gEI Dx", "YR", "ab\u{0}c", "é", "a\tb",
        String(repeating: "a", count: 303), String(repeating: "ab", count: 101), String(repeating: " ", count: 400),
        String(repeating: "Z", count: 140), "abc", String(repeating: "a", count: 63),
    ])
    func `Other texts are not tokens`(text: String) {
        #expect(Address(text: text) == nil)
    }

    /// Apple documents the limit.
    @Test func `A device token has at most 100 bytes`() throws {
        #expect(Address(text: String(repeating: "ab", count: 100))?.byteCount == 100)
        // 136 characters of base64 stand for 102 bytes.
        #expect(Address(text: String(repeating: "A-", count: 68)) == nil)
        let codec = APNsCodec.unconfigured
        #expect(try codec.address(String(repeating: "ab", count: 100)).byteCount == 100)
        #expect(throws: AddressFault.self) { try codec.address(String(repeating: "ab", count: 101)) }
    }

    @Test func `A text of hexadecimal digits is not read as base64`() {
        #expect(Address(text: "abcd") == Address(bytes: [0xab, 0xcd]))
        #expect(Address(text: "YWI") == Address(bytes: [0x61, 0x62]))
    }

    @Test func `The texts of random tokens are read, and random bytes do not trap`() {
        var random = SeededRandom(seed: 41)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_<> \u{7f}\n".utf8)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 1...100, using: &random)).map { _ in
                UInt8.random(in: .min ... .max, using: &random)
            }
            let token = Address(bytes: bytes)!
            #expect(Address(text: token.hex) == token && Address(text: "<\(token.hex.uppercased())>") == token)
            let noise = (0..<Int.random(in: 0...310, using: &random)).map { _ in alphabet.randomElement(using: &random)!
            }
            _ = Address(text: String(decoding: noise, as: UTF8.self))
        }
    }
}
