import FoundationEssentials
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Tests of `carillon keys` as a process, with files that other tools wrote.
@Suite(.waits) struct KeysProcessTests {
    private static let password = "s3same-4711"
    private let directory: TemporaryDirectory
    private let issued: IssuedCertificate
    private let key: ES256PrivateKey

    init() throws {
        directory = try TemporaryDirectory()
        issued = try TestCertificates.shared.authority.issue(
            CertificateRequest(
                commonName: "Apple Push Services: com.example.shop", usage: .client, userID: "com.example.shop",
                extensions: [.init(oid: "1.2.840.113635.100.6.3.2", value: [5, 0])]))
        key = try ES256PrivateKey.generate()
    }

    private func keys(_ arguments: [String], password: String? = nil) async throws -> ChildProcess.Ended {
        let ended = try await ChildProcess.run(
            "env",
            (password.map { ["CARILLON_KEY_PASSWORD=\($0)"] } ?? []) + [ChildProcess.carillon, "keys"] + arguments,
            directory: directory.path)
        // No command may print a password, a key, or colors without a terminal.
        let said = ended.output + ended.errors
        #expect(!said.contains(Self.password))
        #expect(!said.contains("\u{1b}"))
        for pem in [issued.privateKeyPEM, key.pem] {
            for line in pem.split(separator: "\n") where !line.hasPrefix("-") {
                #expect(!said.contains(line.prefix(24)))
            }
        }
        return ended
    }

    private func makeArchive(_ arguments: [String] = ["-legacy"]) async throws {
        _ = try directory.write("in.pem", containing: issued.privateKeyPEM + issued.certificatePEM)
        let ended = try await ChildProcess.run(
            "openssl",
            ["pkcs12", "-export", "-in", "in.pem", "-out", "push.p12", "-passout", "pass:\(Self.password)"] + arguments,
            directory: directory.path)
        try #require(ended.status == 0, "\(ended.errors)")
        _ = try directory.write("password.txt", containing: Self.password + "\n")
    }

    @Test func `An old .p12 file is converted to a usable PEM file`() async throws {
        try await makeArchive()
        let ended = try await keys(["convert", "push.p12", "--out", "push.pem", "--password-file", "password.txt"])
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.errors.isEmpty)
        #expect(ended.output.contains("credential: { certificate: \"push.pem\" }"))
        let path = "\(directory.path)/push.pem"
        let identity = try TLSIdentity(combined: .file(path))
        #expect(identity.certificate.fingerprint == issued.certificate.fingerprint)
        #expect(identity.privateKeyPEM == issued.privateKeyPEM)
        let mode = try await ChildProcess.run("stat", ["-c", "%a", path])
        #expect(mode.output == "600\n")
        let read = try await ChildProcess.run("openssl", ["pkey", "-in", path, "-noout", "-check"])
        #expect(read.output.contains("Key is valid"))
        // No temporary file is left behind.
        let list = try await ChildProcess.run("ls", [directory.path])
        #expect(!list.output.contains(".new"))
    }

    @Test func `An existing file is not overwritten without --force`() async throws {
        try await makeArchive([])
        _ = try directory.write("push.pem", containing: "precious")
        let convert = ["convert", "push.p12", "--out", "push.pem"]
        let refused = try await keys(convert, password: Self.password)
        #expect(refused.status == 77)
        #expect(refused.errors == "carillon keys convert: push.pem already exists; use --force to overwrite it\n")
        #expect(try String(contentsOfFile: "\(directory.path)/push.pem", encoding: .utf8) == "precious")
        let forced = try await keys(convert + ["--force"], password: Self.password)
        #expect(forced.status == 0)
        _ = try TLSIdentity(combined: .file("\(directory.path)/push.pem"))
        let mode = try await ChildProcess.run("stat", ["-c", "%a", "\(directory.path)/push.pem"])
        #expect(mode.output == "600\n")
    }

    @Test func `A certificate is shown as text and as JSON`() async throws {
        try await makeArchive()
        let words = try await keys(["show", "push.p12", "--password-file=password.txt"])
        #expect(words.status == 0, "\(words.errors)")
        #expect(words.output.hasPrefix("push.p12 contains a certificate with its private key (PKCS#12).\n"))
        for text in [
            "  subject       UID=com.example.shop,CN=Apple Push Services: com.example.shop\n",
            "  topics        com.example.shop\n", "  environments  production\n", "  expires       in 82",
            issued.certificate.fingerprint.hex, "credential: { certificate: \"push.p12\", password_file: \"…\" }",
        ] {
            #expect(words.output.contains(text), "\(words.output)")
        }
        let json = try await keys(["show", "--json", "push.p12"], password: Self.password)
        #expect(json.output.hasSuffix("}\n") && json.output.utf8.count { $0 == 10 } == 1)
        let shown = try JSONDecoder().decode(Shown.self, from: Data(json.output.utf8))
        #expect(shown.holds == "certificate_and_key" && shown.file == "push.p12" && shown.format == "PKCS#12")
        #expect(shown.credential?.topics?.map(\.name) == ["com.example.shop"])
        #expect(shown.credential?.environments == ["production"])
        #expect(shown.credential?.expires_at == issued.certificate.notAfter.milliseconds)
        #expect((shown.expires_in_ms ?? 0) > 800 * 86_400_000)
    }

    private struct Shown: Decodable {
        struct Topic: Decodable { let name: String }
        struct Credential: Decodable {
            let key_id: String?
            let topics: [Topic]?
            let environments: [String]?
            let expires_at: Int64?
        }
        let file: String
        let holds: String
        let format: String
        let key_kind: String?
        let expires_in_ms: Int64?
        let credential: Credential?
    }

    @Test func `A VAPID key is made once, readable only by its owner, and its public key is shown`() async throws {
        struct Made: Decodable {
            let public_key: String
            let file: String
        }
        let made = try await keys(["vapid", "vapid.pem", "--json"])
        #expect(made.status == 0)
        let publicKey = try JSONDecoder().decode(Made.self, from: Data(made.output.utf8)).public_key
        #expect(Base64URL.decode(publicKey)?.count == 65)
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory.path)/vapid.pem")
        #expect((attributes[.posixPermissions] as? Int) == 0o600)
        let before = try Data(contentsOf: URL(filePath: "\(directory.path)/vapid.pem"))
        let again = try await keys(["vapid", "vapid.pem"])
        #expect(again.status != 0 && again.errors.contains("already exists"))
        #expect(try Data(contentsOf: URL(filePath: "\(directory.path)/vapid.pem")) == before)
        let shown = try await keys(["show", "vapid.pem"])
        #expect(shown.status == 0 && shown.output.contains(publicKey) && shown.output.contains("VAPID"))
    }

    @Test func `A provider key is shown as text and as JSON`() async throws {
        _ = try directory.write("AuthKey_ABC123DEFG.p8", containing: key.pem)
        let words = try await keys(["show", "AuthKey_ABC123DEFG.p8"])
        #expect(words.status == 0)
        #expect(words.output.contains("contains a provider key (PEM)."))
        #expect(words.output.contains("key_id: \"ABC123DEFG\", team_id: \"…\""))
        let json = try await keys(["show", "AuthKey_ABC123DEFG.p8", "--json"])
        let shown = try JSONDecoder().decode(Shown.self, from: Data(json.output.utf8))
        #expect(shown.holds == "provider_key" && shown.credential?.key_id == "ABC123DEFG" && shown.expires_in_ms == nil)
    }

    @Test func `A missing key or certificate, and an expired certificate, are reported`() async throws {
        _ = try directory.write("cert.pem", containing: issued.certificatePEM)
        let alone = try await keys(["show", "cert.pem"])
        #expect(alone.output.contains("contains a certificate without a private key (PEM)."))
        let rsa = try await ChildProcess.run("openssl", ["genrsa", "2048"])
        _ = try directory.write("rsa.pem", containing: rsa.output)
        let key = try await keys(["show", "rsa.pem"])
        #expect(
            key.output.contains("contains a private key without a certificate")
                && key.output.contains("RSA, 2048 bits"))
        let now = WallTime.current().milliseconds
        let old = try TestCertificates.shared.authority.issue(
            CertificateRequest(
                commonName: "old", usage: .client,
                validity: CertificateValidity(
                    notBefore: WallTime(milliseconds: now - 40 * 86_400_000),
                    notAfter: WallTime(milliseconds: now - 10 * 86_400_000))))
        _ = try directory.write("old.pem", containing: old.certificatePEM + old.privateKeyPEM)
        let expired = try await keys(["show", "old.pem"])
        #expect(expired.status == 0)
        #expect(expired.output.contains("10 days ago, at \(old.certificate.notAfter.utcText)"))
        #expect(expired.output.contains("Next: create a new certificate"))
        let der = try await ChildProcess.run(
            "openssl", ["x509", "-in", "cert.pem", "-outform", "der", "-out", "aps.cer"], directory: directory.path)
        #expect(der.status == 0)
        #expect(try await keys(["show", "aps.cer"]).output.contains("without a private key (DER)."))
    }

    @Test func `CURVE keys and CA certificates are recognized`() async throws {
        let made = try await keys(["curve", "server.curve", "--json"])
        struct Made: Decodable { let public_key: String }
        let publicKey = try JSONDecoder().decode(Made.self, from: Data(made.output.utf8)).public_key
        let pair = try await keys(["show", "server.curve"])
        #expect(pair.status == 0 && pair.output.contains("contains a CURVE key pair"), "\(pair.output)\(pair.errors)")
        #expect(pair.output.contains(publicKey) && pair.output.contains("secret_key_file: \"server.curve\""))
        let whole = String(
            decoding: try BoundedFile.read(directory.path + "/server.curve", limit: 4096), as: UTF8.self)
        let secret = try #require(
            whole.split(separator: "\n").first { $0.contains("secret-key") }?.split(separator: "\"")[1])
        #expect(!pair.output.contains(secret))
        _ = try directory.write("public.curve", containing: "public-key = \"\(publicKey)\"\n")
        let half = try await keys(["show", "public.curve", "--json"])
        #expect(half.output.contains("\"holds\":\"curve_public_key\"") && half.output.contains("\"public_key\":"))
        _ = try directory.write("ca.pem", containing: TestCertificates.shared.authority.certificatePEM)
        let authority = try await keys(["show", "ca.pem"])
        #expect(authority.output.contains("contains a CA certificate (PEM)"), "\(authority.output)")
        #expect(authority.output.contains("trust: \"ca.pem\"") && !authority.output.contains("private key is missing"))
        #expect(!authority.output.contains("not a push certificate"))
        let described = try await keys(["show", "ca.pem", "--json"]).output
        #expect(described.contains(#""holds":"authority""#), "\(described)")
        #expect(!described.contains(#""environments""#) && !described.contains(#""topics""#), "\(described)")
        // Other tools write the same keys with other line ends and spaces.
        _ = try directory.write(
            "other.curve", containing: "curve\r\n\tpublic-key=\(publicKey)\r\n secret-key\t= \(secret) \r\n")
        let other = try await keys(["show", "other.curve", "--json"])
        #expect(other.output.contains("\"holds\":\"curve_key_pair\""), "\(other.output)\(other.errors)")
        let stranger = try CurveKeyPair.generate().publicKey.z85
        _ = try directory.write("mixed.curve", containing: "public-key = \(stranger)\nsecret-key = \(secret)\n")
        let mixed = try await keys(["show", "mixed.curve"])
        #expect(mixed.status == 65 && mixed.errors.contains("its public key does not match its secret key"))
    }

    @Test(
        arguments: [
            ([], 64, "usage: carillon keys VERB"), (["shwo"], 64, "did you mean 'show'?"),
            (["show"], 64, "FILE is missing"),
            (["show", "a", "b"], 64, "unexpected argument 'b'"),
            (["show", "a", "--jsn"], 64, "did you mean '--json'?"),
            (["convert", "push.p12"], 64, "--out FILE"), (["show", "absent"], 65, "cannot open absent: No such file"),
            (["show", "push.p12"], 65, "and none was given"),
            (["show", "push.p12"], 65, "give --password-file FILE, or set CARILLON_KEY_PASSWORD"),
            (["show", "push.p12", "--password-file", "wrong.txt"], 65, "wrong password"),
            (["show", "push.p12", "--password-file", "absent"], 65, "cannot open absent"),
            (["show", "wrong.txt"], 65, "wrong.txt is not PEM"),
            (["convert", "key.p8", "--out", "x"], 65, "does not contain a certificate with its private key"),
            (
                ["convert", "push.p12", "--password-file", "password.txt", "--out", "no/such/place"], 77,
                "cannot write no/such/place: No such file or directory"
            ),
        ] as [([String], Int32, String)])
    func `Usage errors are explained`(arguments: [String], status: Int32, text: String) async throws {
        try await makeArchive()
        _ = try directory.write("wrong.txt", containing: "guess")
        _ = try directory.write("key.p8", containing: key.pem)
        let ended = try await keys(arguments)
        #expect(ended.status == status)
        #expect(ended.errors.contains(text), "\(ended.errors)")
        #expect(ended.output.isEmpty)
    }

    @Test(arguments: [
        (["keys", "--help"], "usage: carillon keys VERB"), (["help", "keys"], "convert"),
        (["help", "keys", "convert"], "usage: carillon keys convert FILE [OPTION ...]"),
        (["keys", "show", "--help"], "carillon keys show push.p12"), (["help"], "keys"),
    ])
    func `Each verb has a help text`(arguments: [String], text: String) async throws {
        let ended = try await ChildProcess.run(ChildProcess.carillon, arguments)
        #expect(ended.status == 0)
        #expect(ended.output.contains(text), "\(ended.output)")
    }
}
