import PushTransport
import Testing

@Suite struct CurveKeyPairTests {
    // The test vectors of zmq_curve(7).
    private static let pairs = [
        ("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"),
        ("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"),
    ]

    @Test("A secret key yields its public key", arguments: pairs)
    func publicKeyOfASecret(publicText: String, secretText: String) throws {
        let secret = try CurveSecretKey(z85: secretText)
        #expect(secret.z85 == secretText)
        let pair = try CurveKeyPair(secretKey: secret)
        #expect(pair.publicKey.z85 == publicText)
        #expect(pair.publicKey == (try CurvePublicKey(z85: publicText)))
    }

    @Test("New key pairs differ and are consistent") func newPairsDifferAndBelongTogether() throws {
        let first = try CurveKeyPair.generate()
        let second = try CurveKeyPair.generate()
        #expect(first.publicKey != second.publicKey)
        #expect(first.secretKey.z85 != second.secretKey.z85)
        #expect(try first.secretKey.publicKey == first.publicKey)
        #expect(first.publicKey.z85.utf8.count == 40)
    }

    @Test(
        "Malformed keys are rejected without showing them",
        arguments: [
            "", "short", String(repeating: "a", count: 39), String(repeating: "a", count: 41),
            String(repeating: "~", count: 40), String(repeating: "é", count: 20),
            "a\0" + String(repeating: "a", count: 38),
            String(repeating: "#", count: 40), String(repeating: "\u{1}", count: 40),
        ])
    func notAKey(text: String) {
        #expect { try CurvePublicKey(z85: text) } throws: { ($0 as? ZMQError)?.code == .invalidKey }
        #expect { try CurveSecretKey(z85: text) } throws: { error in
            guard let error = error as? ZMQError else { return false }
            return error.code == .invalidKey && (text.isEmpty || !error.message.contains(text))
        }
    }

    @Test("A public key needs 32 raw bytes") func rawBytes() throws {
        #expect([UInt8](repeating: 1, count: 31).withUnsafeBytes { CurvePublicKey(bytes: $0) } == nil)
        #expect([UInt8](repeating: 1, count: 33).withUnsafeBytes { CurvePublicKey(bytes: $0) } == nil)
        let key = try #require([UInt8](repeating: 1, count: 32).withUnsafeBytes { CurvePublicKey(bytes: $0) })
        #expect(try CurvePublicKey(z85: key.z85) == key)
    }

    @Test("Secret keys are not shown") func secretsDoNotShow() throws {
        let pair = try CurveKeyPair.generate()
        var options = ZMQSocketOptions()
        options.security = .curveServer(secretKey: pair.secretKey, domain: "push")
        var texts = ["\(pair)", String(reflecting: pair), "\(pair.secretKey)", "\(options)", "\([pair.secretKey])"]
        for value in [pair, pair.secretKey, options, options.security] as [Any] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        // The bytes as they appear if they are not hidden.
        var open = ""
        dump(try CurvePublicKey(z85: pair.secretKey.z85), to: &open)
        let bytes = try #require(
            open.split(separator: "\n").first { $0.contains("SIMD32") }?.split(separator: "(").last)
        for text in texts {
            #expect(!text.contains(pair.secretKey.z85))
            #expect(!text.contains(bytes))
        }
        #expect("\(pair)".contains(pair.publicKey.z85))
    }
}
