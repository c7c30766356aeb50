import PushRandom
import PushTransport
import Testing

@testable import WebPush

/// The encryption of messages, by the vectors of the RFCs.
@Suite struct MessageEncryptorTests {
    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }

    private func encrypt(
        _ message: [UInt8], padding: Int = 0, publicKey: [UInt8], secret: [UInt8],
        ephemeral: MessageEncryptor.Ephemeral? = nil, with encryptor: MessageEncryptor = MessageEncryptor()
    ) -> [UInt8]? {
        unsafe publicKey.withUnsafeBytes { publicKey in
            unsafe secret.withUnsafeBytes { secret in
                unsafe encryptor.encrypt(
                    message, padding: padding, publicKey: publicKey, secret: secret, ephemeral: ephemeral)
            }
        }
    }

    private static let publicKey =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"

    @Test("The example of RFC 8291 gives its body, also with an encryptor that was used before")
    func example() throws {
        let body = try bytes(
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6"
                + "PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
        let ephemeral = MessageEncryptor.Ephemeral(
            privateKey: try bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
            salt: try bytes("DGv6ra1nlYgDCS1FRnbzlw"))
        let encryptor = MessageEncryptor()
        let message = Array("When I grow up, I want to be a watermelon".utf8)
        let key = try bytes(Self.publicKey)
        let secret = try bytes(Self.secret)
        #expect(encrypt(message, publicKey: key, secret: secret, ephemeral: ephemeral, with: encryptor) == body)
        #expect(encrypt([1, 2, 3], padding: 100, publicKey: key, secret: secret, with: encryptor) != nil)
        #expect(encrypt(message, publicKey: key, secret: secret, ephemeral: ephemeral, with: encryptor) == body)
    }

    @Test("The examples of RFC 8188 give their keys and nonces")
    func contentKeys() throws {
        let first = MessageEncryptor().contentKeys(
            of: try bytes("yqdlZ-tYemfogSmv7Ws5PQ"), salt: try bytes("I1BsxtFttlv3u_Oo94xnmw"))
        #expect(Base64URL.encode(first.key) == "_wniytB-ofscZDh4tbSjHw")
        #expect(Base64URL.encode(first.nonce) == "Bcs8gkIRKLI8GeI8")
        let second = MessageEncryptor().contentKeys(
            of: try bytes("S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg"), salt: try bytes("DGv6ra1nlYgDCS1FRnbzlw"))
        #expect(Base64URL.encode(second.key) == "oIhVW04MRdy2XN9CiKLxTg")
        #expect(Base64URL.encode(second.nonce) == "4h_95klXJ5E_qnoN")
    }

    @Test("Each message has a key pair and a salt of its own, and its length is that of the text and the padding")
    func freshness() throws {
        let key = try bytes(Self.publicKey)
        let secret = try bytes(Self.secret)
        let encryptor = MessageEncryptor()
        var seen: Set<[UInt8]> = []
        for count in [0, 1, 127, 128, 3993] {
            let message = [UInt8](repeating: 7, count: count)
            let padding = Padding.length(for: count)
            let body = try #require(
                encrypt(message, padding: padding, publicKey: key, secret: secret, with: encryptor))
            #expect(body.count == count + padding + 103)
            #expect(Array(body[16..<21]) == [0, 0, 16, 0, 65] && body[21] == 4)
            #expect(P256Point.isValid(Array(body[21..<86])))
            seen.insert(Array(body[..<16]))
            seen.insert(Array(body[21..<86]))
        }
        #expect(seen.count == 10)
        // More salts than are drawn at once, also after a key that is refused.
        for number in 0..<130 {
            if number % 10 == 0 {
                let wrong = [UInt8](repeating: 0, count: 65)
                #expect(encrypt([1], padding: 1, publicKey: wrong, secret: secret, with: encryptor) == nil)
            }
            let body = try #require(encrypt([1], padding: 1, publicKey: key, secret: secret, with: encryptor))
            #expect(seen.insert(Array(body[..<16])).inserted)
        }
    }

    @Test("Keys that are no point on the curve, short secrets and long messages are refused")
    func refusals() throws {
        let key = try bytes(Self.publicKey)
        let secret = try bytes(Self.secret)
        var wrong = key
        wrong[64] ^= 1
        var compressed = key
        compressed[0] = 2
        for bad in [wrong, compressed, Array(key.dropLast()), [], [UInt8](repeating: 0, count: 65)] {
            #expect(encrypt([1], publicKey: bad, secret: secret) == nil)
            #expect(!P256Point.isValid(bad))
        }
        #expect(encrypt([1], publicKey: key, secret: Array(secret.dropLast())) == nil)
        #expect(encrypt([UInt8](repeating: 1, count: 4080), publicKey: key, secret: secret) == nil)
        #expect(encrypt([1], padding: -1, publicKey: key, secret: secret) == nil)
        #expect(encrypt([1], padding: 4079, publicKey: key, secret: secret) == nil)
        #expect(P256Point.isValid(key))
    }

    @Test("The padding reaches the next multiple of 128 bytes, up to 2048")
    func padding() {
        let lengths = [0, 1, 127, 128, 129, 2047, 2048, 2049, 3993].map { $0 + Padding.length(for: $0) }
        #expect(lengths == [128, 128, 128, 128, 256, 2048, 2048, 2049, 3993])
    }
}
