import APNs
import PushGateways
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct CredentialFilesTests {
    private let fixture: CredentialFixture

    init() throws {
        fixture = try CredentialFixture()
    }

    private func keyFiles(
        _ path: String, keyID: String = "ABC123DEFG", teamID: String = "DEF123GHIJ"
    ) -> CredentialFiles {
        .key(path: path, keyID: keyID, teamID: teamID)
    }

    // MARK: Valid files

    @Test func `A provider key is loaded with its key id and team id`() throws {
        let path = try fixture.write("AuthKey_ABC123DEFG.p8", fixture.key.pem)
        let loaded = try keyFiles(path).load()
        #expect(loaded.warnings.isEmpty)
        guard case .providerKey(let key) = loaded.credential else {
            throw CredentialError(.failed, message: "not a key")
        }
        #expect(key.description == "key ABC123DEFG of team DEF123GHIJ")
        // The same files give an equal key, so there is one token for it.
        guard case .providerKey(let again) = try keyFiles(path).load().credential else { return }
        #expect(key == again && key.hashValue == again.hashValue)
        #expect(try ProviderKey(teamID: "DEF123GHIJ", keyID: "ABC123DEFG", key: .generate()) != key)
        #expect(try ProviderKey(teamID: "DEF123GHIJ", keyID: "ABC123DEFH", key: key.key) != key)
        #expect(try ProviderKey(teamID: "DEF123GHIK", keyID: "ABC123DEFG", key: key.key) != key)
        let facts = loaded.credential.facts
        #expect(facts.kind == .providerKey && facts.keyID == "ABC123DEFG" && facts.teamID == "DEF123GHIJ")
        #expect(facts.notAfter == nil && facts.topics == nil)
    }

    @Test func `The fingerprint of a key equals that of the openssl command`() async throws {
        let path = try fixture.write("key.pem", fixture.key.pem)
        let der = "\(fixture.directory.path)/public.der"
        _ = try await fixture.openssl(["pkey", "-in", path, "-pubout", "-outform", "der", "-out", der])
        let digest = try await fixture.openssl(["dgst", "-sha256", "-r", der])
        let loaded = try keyFiles(path).load()
        #expect(digest.hasPrefix(loaded.credential.facts.fingerprint + " "))
    }

    @Test func `A key file that is named after another key causes a warning`() throws {
        let path = try fixture.write("AuthKey_ZZZ123DEFG.p8", fixture.key.pem)
        let loaded = try keyFiles(path).load()
        #expect(loaded.warnings.count == 1)
        #expect(
            loaded.warnings[0].contains("has the file name of key ZZZ123DEFG, but the configured key id is ABC123D"))
        for name in ["key.p8", "AuthKey_short.p8", "AuthKey_abc123defg.p8", "AuthKey_ZZZ123DEFG.pem"] {
            #expect(try keyFiles(try fixture.write(name, fixture.key.pem)).load().warnings.isEmpty)
        }
    }

    @Test(arguments: [["-legacy"], []]) func `PKCS#12 is loaded with the facts of its certificate`(arguments: [String])
        async throws
    {
        let path = try await fixture.pkcs12(fixture.certificate, arguments)
        let loaded = try CredentialFiles.certificate(path, key: nil, passwordFile: try fixture.passwordFile).load()
        let facts = loaded.credential.facts
        #expect(facts.kind == .certificate)
        #expect(facts.subject == "UID=com.example.shop,CN=Apple Push Services: com.example.shop")
        #expect(
            facts.topics?.map(\.name) == [
                "com.example.shop", "com.example.shop.voip", "com.example.shop.complication",
            ])
        #expect(facts.topics?.map(\.kinds) == [[.app], [.voip], [.complication]])
        #expect(facts.environments == [.production])
        #expect(facts.notAfter == fixture.certificate.certificate.notAfter)
        #expect(facts.fingerprint == fixture.certificate.certificate.fingerprint.hex)
        #expect(facts.keyKind == "EC, 256 bits")
    }

    @Test func `PEM is loaded from one file or two, with an encrypted key too`() async throws {
        let (certificate, key) = (fixture.certificate.certificatePEM, fixture.certificate.privateKeyPEM)
        let fingerprint = fixture.certificate.certificate.fingerprint.hex
        let combined = try fixture.write("both.pem", certificate + key)
        let alone = try fixture.write("cert.pem", certificate)
        let keyFile = try fixture.write("key.pem", key)
        let encrypted = try fixture.write(
            "encrypted.pem",
            try await fixture.openssl([
                "pkcs8", "-topk8", "-in", keyFile, "-passout", "pass:\(CredentialFixture.password)",
            ]))
        let files: [CredentialFiles] = [
            .certificate(combined, key: nil, passwordFile: nil), .certificate(alone, key: keyFile, passwordFile: nil),
            .certificate(alone, key: encrypted, passwordFile: try fixture.passwordFile),
        ]
        for one in files { #expect(try one.load().credential.facts.fingerprint == fingerprint) }
    }

    // MARK: Invalid files, each with its own error

    @Test func `Invalid provider keys are rejected`() async throws {
        let good = try fixture.write("good.p8", fixture.key.pem)
        let rsa = try fixture.write("rsa.p8", try await fixture.openssl(["genrsa", "2048"]))
        let curve = try fixture.write(
            "p384.p8", try await fixture.openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "group:P-384"]))
        let encrypted = try fixture.write(
            "encrypted.p8",
            try await fixture.openssl([
                "pkcs8", "-topk8", "-in", good, "-passout", "pass:\(CredentialFixture.password)",
            ]))
        let certificate = try fixture.write("cert.p8", fixture.certificate.certificatePEM)
        let torn = try fixture.write("torn.p8", String(fixture.key.pem.dropLast(30)))
        let damaged = try fixture.write("damaged.p8", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
        let text = try fixture.write("text.p8", "hello")
        let cases: [(CredentialFiles, CredentialError.Code, String)] = [
            (
                keyFiles("/nonexistent/a.p8"), .unreadableFile,
                "cannot open /nonexistent/a.p8: No such file or directory"
            ),
            (
                keyFiles(fixture.directory.path), .unreadableFile,
                "it is a directory, not a regular file; check the path"
            ),
            (keyFiles(rsa), .wrongKeyKind, "rsa.p8: ES256 needs a key on the curve P-256, this one is RSA, 2048 bits"),
            (keyFiles(curve), .wrongKeyKind, "this one is EC, 384 bits; use the .p8 file"),
            (keyFiles(encrypted), .missingPassword, "is encrypted, but a provider key must not be; write it without"),
            (keyFiles(certificate), .noPrivateKey, "contains no private key, only CERTIFICATE"),
            (keyFiles(torn), .malformed, "has no END line; is the file complete?"),
            (keyFiles(damaged), .malformed, "damaged.p8: the private key cannot be read"),
            (keyFiles(text), .malformed, "is not PEM: it has no -----BEGIN line"),
            (keyFiles(good, keyID: "abc123defg"), .badKeyID, "\"abc123defg\" is not a key id"),
            (keyFiles(good, keyID: "ABC"), .badKeyID, "a key id has 10 characters of A–Z and 0–9"),
            (keyFiles(good, teamID: "com.example"), .badTeamID, "\"com.example\" is not a team id"),
        ]
        try check(cases)
    }

    @Test func `Invalid certificates are rejected`() async throws {
        let right = try fixture.passwordFile
        let wrong = try fixture.write("wrong.txt", "guess-0815")
        let empty = try fixture.write("empty.txt", "")
        let archive = try await fixture.pkcs12(fixture.certificate)
        func pem(_ name: String, _ text: String, key: String? = nil) throws -> CredentialFiles {
            .pem(certificate: try fixture.write(name, text), key: key, passwordFile: nil)
        }
        let (certificate, key) = (fixture.certificate.certificatePEM, fixture.certificate.privateKeyPEM)
        let keyFile = try fixture.write("key.pem", key)
        let encrypted = try fixture.write(
            "encrypted.pem", try await fixture.openssl(["pkcs8", "-topk8", "-in", keyFile, "-passout", "pass:x"]))
        let otherKey = try fixture.write("other.pem", fixture.other.privateKeyPEM)
        let alone = try fixture.write("cert.pem", certificate)
        let cases: [(CredentialFiles, CredentialError.Code, String)] = [
            (.pkcs12(path: "/nonexistent/a.p12", passwordFile: nil), .unreadableFile, "cannot open /nonexistent/a.p12"),
            (
                .pkcs12(path: archive, passwordFile: "/nonexistent/password"), .unreadableFile,
                "cannot open /nonexistent/password"
            ),
            (.pkcs12(path: archive, passwordFile: wrong), .wrongPassword, "wrong password; check"),
            (.pkcs12(path: archive, passwordFile: nil), .missingPassword, "is protected by a password, and none was"),
            (.pkcs12(path: archive, passwordFile: empty), .missingPassword, "write the password into a file"),
            (.pkcs12(path: archive, passwordFile: archive), .badPasswordFile, "push.p12 has more than"),
            (
                .pkcs12(path: archive, passwordFile: try fixture.write("two.txt", "a\nb\n")), .badPasswordFile,
                "must contain one line of UTF-8 text"
            ),
            (
                .pkcs12(path: alone, passwordFile: nil), .malformed,
                "is PEM, not PKCS#12; give a key or a certificate in PEM"
            ),
            (.pkcs12(path: right, passwordFile: nil), .malformed, "is not PKCS#12, or is damaged"),
            (.pem(certificate: archive, key: nil, passwordFile: nil), .malformed, "is not PEM"),
            (
                .pem(certificate: alone, key: encrypted, passwordFile: nil), .missingPassword,
                "the private key is encrypted and no password was given"
            ),
            (
                .pem(certificate: alone, key: encrypted, passwordFile: wrong), .wrongPassword,
                "encrypted.pem: wrong password for the private key"
            ),
            (.pem(certificate: alone, key: nil, passwordFile: nil), .noPrivateKey, "contains no private key"),
            (.pem(certificate: keyFile, key: nil, passwordFile: nil), .noCertificate, "contains no certificate"),
            (
                .pem(certificate: alone, key: otherKey, passwordFile: nil), .keyMismatch,
                "other.pem does not belong to the certificate in"
            ),
            (
                try pem("expired.pem", fixture.expired.certificatePEM + fixture.expired.privateKeyPEM), .expired,
                "expired at \(fixture.expired.certificate.notAfter.utcText); make a new one"
            ),
            (
                try pem("early.pem", fixture.early.certificatePEM + fixture.early.privateKeyPEM), .notYetValid,
                "is not valid before \(fixture.early.certificate.notBefore.utcText); check this machine's clock"
            ),
        ]
        try check(cases)
        let expired = try await fixture.pkcs12(fixture.expired)
        #expect(
            credentialError { _ = try CredentialFiles.pkcs12(path: expired, passwordFile: right).load() }?.code
                == .expired)
        // `load` compares the dates with the time of its caller.
        _ = try CredentialFiles.pkcs12(path: expired, passwordFile: right).load(
            at: fixture.expired.certificate.notBefore)
    }

    /// Checks that each case fails with its code and text, and that no error contains a secret.
    private func check(
        _ cases: [(CredentialFiles, CredentialError.Code, String)], at location: SourceLocation = #_sourceLocation
    ) throws {
        let secrets =
            [CredentialFixture.password, "guess-0815"]
            + [fixture.key.pem, fixture.certificate.privateKeyPEM, fixture.other.privateKeyPEM].flatMap { pem in
                pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.map { String($0.prefix(24)) }
            }
        for (files, code, text) in cases {
            let error = try #require(credentialError { _ = try files.load() }, "\(files)", sourceLocation: location)
            #expect(error.code == code, "\(files): \(error)", sourceLocation: location)
            #expect(error.message.contains(text), "\(error)", sourceLocation: location)
            var all = "\(error)\(error.code)"
            dump(error, to: &all)
            for secret in secrets { #expect(!all.contains(secret), sourceLocation: location) }
        }
    }

    @Test func `No description of a credential contains its key`() async throws {
        let path = try fixture.write("AuthKey_ABC123DEFG.p8", fixture.key.pem)
        let archive = try await fixture.pkcs12(fixture.certificate)
        for files in [keyFiles(path), .pkcs12(path: archive, passwordFile: try fixture.passwordFile)] {
            let loaded = try files.load()
            var all = "\(loaded) \(loaded.credential) \(loaded.credential.facts) \(files)"
            dump(loaded, to: &all)
            dump(loaded.credential.facts, to: &all)
            debugPrint(loaded, to: &all)
            #expect(!all.contains(CredentialFixture.password))
            for pem in [fixture.key.pem, fixture.certificate.privateKeyPEM] {
                for line in pem.split(separator: "\n") where !line.hasPrefix("-") {
                    #expect(!all.contains(line.prefix(24)))
                }
            }
        }
    }
}
