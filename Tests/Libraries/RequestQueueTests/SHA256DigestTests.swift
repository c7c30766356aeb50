import Foundation
import TestSupport
import TestTraits
import Testing

@testable import RequestQueue

/// The digest beside published vectors and beside the program openssl.
@Suite(.waits) struct SHA256DigestTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func `The vectors of FIPS 180 hold`() {
        #expect(hex(SHA256Digest.of([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            hex(SHA256Digest.of("abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex(SHA256Digest.of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8))
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    }

    @Test func `The vectors of RFC 4231 hold`() {
        let cases: [([UInt8], [UInt8], String)] = [
            (
                [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xaa, count: 131),
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ]
        for (key, message, code) in cases {
            #expect(hex(SHA256Digest.authenticationCode(of: message, key: key)) == code)
        }
    }

    @Test func `Every length is as openssl has it`() async throws {
        let directory = try TemporaryDirectory()
        let lengths = Array(0...130) + [1000, 4096]
        var generator = Jitter(seed: 1)
        var expected: [String] = []
        for length in lengths {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let url = URL(fileURLWithPath: directory.path).appendingPathComponent("\(length)")
            try Data(bytes).write(to: url)
            expected.append(hex(SHA256Digest.of(bytes)))
        }
        let ended = try await ChildProcess.run(
            "openssl", ["dgst", "-sha256", "-r"] + lengths.map { "\(directory.path)/\($0)" })
        #expect(ended.output.split(separator: "\n").map { String($0.prefix(64)) } == expected, "\(ended.errors)")
    }
}
