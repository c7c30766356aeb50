import PushTransport
import TestSupport
import Testing

@Suite struct ES256Tests {
    private let message = Array("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJERUYxMjNHSElKIn0".utf8)

    private func failure(_ body: () throws -> Void) -> CryptoError? {
        do {
            try body()
            return nil
        } catch {
            return error as? CryptoError
        }
    }

    @Test("A signed message verifies") func whatIsSignedVerifies() throws {
        let key = try ES256PrivateKey.generate()
        for length in 0..<50 {
            let message = SecureRandom.bytes(length)
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            #expect(key.publicKey.verify(message, signature: signature))
            #expect(!key.publicKey.verify(message + [0], signature: signature))
        }
    }

    @Test("A signature is valid only for its key and message, and only as a whole")
    func aSignatureIsForOneKeyOneMessageAndWhole() throws {
        let key = try ES256PrivateKey.generate()
        let signature = try key.sign(message)
        #expect(try !ES256PrivateKey.generate().publicKey.verify(message, signature: signature))
        for index in signature.indices {
            var wrong = signature
            wrong[index] ^= 1
            #expect(!key.publicKey.verify(message, signature: wrong))
        }
        for length in 0..<64 {
            #expect(!key.publicKey.verify(message, signature: Array(signature.prefix(length))))
        }
        #expect(!key.publicKey.verify(message, signature: signature + [0]))
        #expect(!key.publicKey.verify(message, signature: [UInt8](repeating: 0, count: 64)))
        #expect(!key.publicKey.verify(message, signature: [UInt8](repeating: 0xFF, count: 64)))
        // A good signature still verifies after the bad ones.
        #expect(key.publicKey.verify(message, signature: signature))
    }

    /// Fuzzing found that a PKCS#8 file with a public key that does not match its private key was accepted, and its
    /// signatures could not be verified.
    @Test("A private key with the public key of another one is rejected")
    func aPrivateKeyBesideAnotherPublicKeyIsRefused() throws {
        let good = try ES256PrivateKey.generate()
        var der = try #require(decoded(good.pem))
        // The last bytes are the public point. Replacing them gives another key or an invalid one.
        let whole = try ES256PrivateKey(pem: .text(armoured(der)))
        #expect(whole.publicKey.verify(message, signature: try good.sign(message)))
        let other = try #require(decoded(ES256PrivateKey.generate().pem))
        der.replaceSubrange((der.count - 64)..., with: other.suffix(64))
        let error = try #require(failure { _ = try ES256PrivateKey(pem: .text(armoured(der))) })
        #expect(error.code == .malformedPEM)
        #expect(error.message.contains("does not match"))
        // The input that the fuzzer found.
        let found = try #require(
            Hex.decode(
                "308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420d24ec2ba071c80f8a696"
                    + "15bee23b15d6485560f5cf002fdaa74a9d5ec2000443a1440342000413d4905c91c958314ca578c42969c5e0ea48"
                    + "6c9100aa15e114e7e34db908242430e5c840265ecbcb57cf4c984ec336cad8fb68db2fe3d4508a773cb19cd8b6fc"))
        #expect(failure { _ = try ES256PrivateKey(pem: .text(armoured(found))) }?.code == .malformedPEM)
    }

    private func decoded(_ pem: String) -> [UInt8]? {
        let digits = pem.split(separator: "\n").dropFirst().dropLast().joined().filter { $0 != "=" }
        return Base64URL.decode(String(digits.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }))
    }

    private func armoured(_ der: [UInt8]) -> String {
        let digits = Base64URL.encode(der).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        let padded = digits + [Character](repeating: "=", count: (4 - digits.count % 4) % 4)
        var lines = ["-----BEGIN PRIVATE KEY-----"]
        for start in stride(from: 0, to: padded.count, by: 64) {
            lines.append(String(padded[start..<min(padded.count, start + 64)]))
        }
        return (lines + ["-----END PRIVATE KEY-----", ""]).joined(separator: "\n")
    }

    /// RFC 8292, section 2.4: the token of the example and the key that verifies it.
    @Test("The example of RFC 8292 verifies") func theExampleOfRFC8292() throws {
        let token =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9"
            + ".eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0"
            + ".i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
        let point = try #require(
            Base64URL.decode("BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"))
        let parts = token.split(separator: ".")
        let signature = try #require(Base64URL.decode(String(parts[2])))
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        let key = try ES256PublicKey(point: point)
        #expect(key.verify(signed, signature: signature))
        #expect(!key.verify(Array("\(parts[1]).\(parts[0])".utf8), signature: signature))
    }

    /// RFC 7515, appendix A.3.
    @Test("The example of RFC 7515 verifies") func theExampleOfRFC7515() throws {
        let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        let signature = try #require(
            Base64URL.decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
        let signed =
            "eyJhbGciOiJFUzI1NiJ9"
            + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        #expect(try ES256PublicKey(point: [4] + x + y).verify(Array(signed.utf8), signature: signature))
    }

    @Test("Keys are read in every PEM form") func keysAreReadInEveryForm() throws {
        let reference = try ES256PublicKey(pem: .text(KeyFixtures.p256PublicKey))
        let forms: [(String, String?)] = [
            (KeyFixtures.p256Key, nil), (KeyFixtures.p256KeyWithParameters, nil),
            (KeyFixtures.p256Certificate + KeyFixtures.p256Key, nil),
            (KeyFixtures.p256KeyEncrypted, KeyFixtures.password),
            (KeyFixtures.p256KeyEncryptedTraditionally, KeyFixtures.password),
            ("text before\r\n" + KeyFixtures.p256Key.split(separator: "\n").joined(separator: "\r\n") + "\r\n", nil),
        ]
        for (pem, password) in forms {
            let key = try ES256PrivateKey(pem: .text(pem), password: password)
            #expect(reference.verify(message, signature: try key.sign(message)))
        }
        let key = try ES256PrivateKey(pem: .text(KeyFixtures.p256Key))
        let signature = try key.sign(message)
        for pem in [KeyFixtures.p256Certificate, KeyFixtures.p256Key, key.publicKey.pem] {
            #expect(try ES256PublicKey(pem: .text(pem)).verify(message, signature: signature))
        }
        let certificate = try CertificateInfo(pem: .text(KeyFixtures.p256Certificate))
        #expect(try ES256PublicKey(of: certificate).verify(message, signature: signature))
    }

    @Test("An exported key can be imported again") func keysGoOutAsTheyComeIn() throws {
        let key = try ES256PrivateKey.generate()
        #expect(key.pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let again = try ES256PrivateKey(pem: .text(key.pem))
        #expect(again.pem == key.pem)
        #expect(key.publicKey.verify(message, signature: try again.sign(message)))
        #expect(try ES256PrivateKey.generate().pem != key.pem)
    }

    @Test(
        "Other kinds of keys are rejected with their name",
        arguments: [
            (KeyFixtures.rsa2048Key, "RSA, 2048 bits"), (KeyFixtures.p384Key, "EC, 384 bits"),
            (KeyFixtures.ed25519Key, "ED25519"),
        ])
    func otherKindsOfKeysAreRefusedByName(_ pem: String, _ kind: String) throws {
        for error in [
            failure { _ = try ES256PrivateKey(pem: .text(pem)) }, failure { _ = try ES256PublicKey(pem: .text(pem)) },
        ] {
            #expect(error?.code == .wrongKeyKind)
            #expect(error?.message.contains("P-256") == true)
            #expect(error?.message.contains(kind) == true)
        }
    }

    @Test("Missing and wrong passwords are distinguished") func passwords() throws {
        let encrypted = PEMSource.text(KeyFixtures.p256KeyEncrypted)
        let missing = try #require(failure { _ = try ES256PrivateKey(pem: encrypted) })
        #expect(missing.code == .missingPassword)
        #expect(missing.message.contains("no password was given"))
        for wrong in ["", "guess", String(repeating: "x", count: 5_000)] {
            let error = try #require(failure { _ = try ES256PrivateKey(pem: encrypted, password: wrong) })
            #expect(error.code == .wrongPassword)
            #expect(error.message.contains("wrong password"))
            #expect(!error.message.contains("guess"))
        }
    }

    @Test("Input without a private key is rejected") func whatIsNotAKey() throws {
        let missing = try #require(failure { _ = try ES256PrivateKey(pem: .file("/nonexistent/AuthKey.p8")) })
        #expect(missing.code == .unreadableFile)
        #expect(missing.message == "cannot open /nonexistent/AuthKey.p8: No such file or directory")
        let cases: [(String, CryptoError.Code)] = [
            ("", .malformedPEM), ("not a key", .malformedPEM), ("-----BEGIN PRIVATE KEY-----\n", .malformedPEM),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", .malformedPEM),
            ("-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----\n", .malformedPEM),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END CERTIFICATE-----\n", .malformedPEM),
            (String(KeyFixtures.p256Key.dropLast(60)), .malformedPEM), (KeyFixtures.p256PublicKey, .noPrivateKey),
            (KeyFixtures.p256Certificate, .noPrivateKey),
        ]
        for (pem, code) in cases {
            #expect(failure { _ = try ES256PrivateKey(pem: .text(pem)) }?.code == code, "\(pem)")
        }
        // A directory can be opened but not read.
        #expect(failure { _ = try ES256PrivateKey(pem: .file("/")) }?.code == .unreadableFile)
    }

    @Test("Points outside of the curve are rejected") func pointsOffTheCurve() throws {
        var point = try #require(
            Base64URL.decode("BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"))
        point[64] ^= 1
        for wrong in [point, [], [4], [UInt8](repeating: 4, count: 65), [4] + [UInt8](repeating: 0, count: 64)] {
            #expect(failure { _ = try ES256PublicKey(point: wrong) }?.code == .wrongKeyKind)
        }
    }

    @Test("Mutated PEM is read or rejected") func mutatedPEM() throws {
        var random = SeededRandom(seed: 256)
        for source in [KeyFixtures.p256Key, KeyFixtures.p256KeyEncrypted, KeyFixtures.p256Certificate] {
            for _ in 0..<300 {
                var bytes = Array(source.utf8)
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let position = Int.random(in: bytes.indices, using: &random)
                    bytes[position] = UInt8(truncatingIfNeeded: random.next())
                }
                // Any input is either read or rejected.
                _ = try? ES256PrivateKey(pem: .bytes(bytes), password: KeyFixtures.password)
                _ = try? ES256PublicKey(pem: .bytes(bytes))
                _ = try? CertificateInfo(pem: .bytes(bytes))
            }
        }
    }
}
