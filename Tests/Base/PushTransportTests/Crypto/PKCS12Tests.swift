import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushTransport

/// PKCS#12 files of other tools: the `openssl` command creates each of them.
@Suite(.waits) struct PKCS12Tests {
    private static let password = "s3same-Öffne"

    /// The encryption of a file, as options of `openssl pkcs12 -export`.
    enum Variant: String, CaseIterable, CustomTestStringConvertible {
        case rc2, tripleDES, aes256

        var arguments: [String] {
            switch self {
            case .rc2: ["-legacy"]
            case .tripleDES: ["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "SHA1"]
            case .aes256: []
            }
        }

        var testDescription: String { rawValue }
    }

    private let directory: TemporaryDirectory
    private let issued: IssuedCertificate
    private let root = TestCertificates.shared.authority.certificatePEM

    init() throws {
        directory = try TemporaryDirectory()
        issued = try TestCertificates.shared.authority.issue(
            CertificateRequest(
                commonName: "Apple Push Services: com.example.shop", usage: .client, userID: "com.example.shop"))
    }

    /// Creates a file with this key, its certificate and that of the authority, and returns its path.
    private func export(_ arguments: [String], password: String = Self.password) async throws -> String {
        let pem = try directory.write("in.pem", containing: issued.privateKeyPEM + issued.certificatePEM)
        let chain = try directory.write("chain.pem", containing: root)
        let out = "\(directory.path)/push.p12"
        let ended = try await ChildProcess.run(
            "openssl",
            ["pkcs12", "-export", "-in", pem, "-certfile", chain, "-out", out, "-passout", "pass:\(password)"]
                + arguments)
        try #require(ended.status == 0, "\(ended.errors)")
        return out
    }

    private func failure(_ body: () throws -> Void) -> CryptoError? {
        do {
            try body()
            return nil
        } catch {
            return error as? CryptoError
        }
    }

    @Test(arguments: Variant.allCases)
    func `Key, certificate and chain are read and work for TLS`(_ variant: Variant) async throws {
        let path = try await export(variant.arguments)
        let identity = try TLSIdentity(try PKCS12(file: path, password: Self.password))
        #expect(identity.certificate.fingerprint == issued.certificate.fingerprint)
        #expect(identity.certificatesPEM == issued.certificatePEM + root)
        #expect(identity.privateKeyPEM == issued.privateKeyPEM)
        #expect(identity.keyKind == "EC, 256 bits")
        var pair = try TLSPair(
            client: TLSClientConfiguration(trust: TestCertificates.shared.trust, identity: identity),
            server: TLSServerConfiguration(
                identity: TestCertificates.shared.serverIdentity,
                clientCertificates: .required(TestCertificates.shared.trust)))
        try pair.connect()
        #expect(pair.client.state == .established)
        #expect(pair.server.state == .established)
    }

    @Test(arguments: Variant.allCases)
    func `A wrong password and a missing one give different errors`(_ variant: Variant) async throws {
        let path = try await export(variant.arguments)
        for wrong in ["guess-4711", Self.password + " ", String(repeating: "x", count: 5_000)] {
            let error = try #require(failure { _ = try PKCS12(file: path, password: wrong) })
            #expect(error.code == .wrongPassword)
            #expect(error.message == "\(path): wrong password")
        }
        for missing in [nil, ""] {
            let error = try #require(failure { _ = try PKCS12(file: path, password: missing) })
            #expect(error.code == .missingPassword)
            #expect(error.message == "\(path) is protected by a password, and none was given")
        }
        #expect(failure { _ = try PKCS12(file: path, password: "a\0b") }?.code == .wrongPassword)
    }

    @Test(arguments: Variant.allCases)
    func `An empty password is tried automatically`(_ variant: Variant) async throws {
        let path = try await export(variant.arguments, password: "")
        for none in [nil, ""] {
            #expect(try TLSIdentity(PKCS12(file: path, password: none)).privateKeyPEM == issued.privateKeyPEM)
        }
    }

    @Test func `Without the legacy provider, an old file gives a clear error, and others are read`() async throws {
        func open(_ path: String, password: String? = Self.password) throws -> CryptoError? {
            let bytes = try BoundedFile.read(path, limit: PKCS12.maxSize)
            return failure { _ = try PKCS12(bytes: bytes, password: password, name: path, providers: .defaultOnly) }
        }
        #expect(try open(try await export(Variant.aes256.arguments)) == nil)
        #expect(try open(try await export(Variant.tripleDES.arguments)) == nil)
        let old = try await export(Variant.rc2.arguments)
        let error = try #require(try open(old))
        #expect(error.code == .unsupportedEncryption)
        #expect(error.message.contains("RC2-40") && error.message.contains("install it"))
        // Every provider supports the algorithm of the MAC.
        #expect(try open(old, password: "guess")?.code == .wrongPassword)
    }

    @Test func `The process's own OpenSSL context is unchanged`() async throws {
        let path = try await export(Variant.rc2.arguments)
        _ = try PKCS12(file: path, password: Self.password)
        // Only the legacy provider has RC2, so the default context cannot decrypt a key that RC2 encrypts.
        let key = try directory.write("key.pem", containing: issued.privateKeyPEM)
        let ended = try await ChildProcess.run(
            "openssl",
            [
                "pkcs8", "-topk8", "-in", key, "-v1", "PBE-SHA1-RC2-40", "-passout", "pass:x", "-provider", "legacy",
                "-provider", "default",
            ])
        try #require(ended.status == 0, "\(ended.errors)")
        #expect(
            failure { _ = try ES256PrivateKey(pem: .text(ended.output), password: "x") }?.code != nil)
        #expect(SHA256.hash([]).hex.hasPrefix("e3b0c442"))
        let made = try ES256PrivateKey(pem: .text(issued.privateKeyPEM))
        #expect(made.publicKey.verify([1], signature: try made.sign([1])))
    }

    @Test func `Several threads can import at the same time`() async throws {
        let path = try await export(Variant.rc2.arguments)
        let keys = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask { try TLSIdentity(PKCS12(file: path, password: Self.password)).privateKeyPEM }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(keys == [issued.privateKeyPEM])
    }

    @Test func `An RSA key of a certificate is read`() async throws {
        let (key, out) = ("\(directory.path)/rsa.pem", "\(directory.path)/rsa.p12")
        let made = try await ChildProcess.run(
            "openssl",
            ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", "\(key).crt", "-subj", "/CN=r"])
        try #require(made.status == 0, "\(made.errors)")
        _ = try await ChildProcess.run(
            "openssl",
            ["pkcs12", "-export", "-legacy", "-inkey", key, "-in", "\(key).crt", "-out", out, "-passout", "pass:x"])
        #expect(try TLSIdentity(PKCS12(file: out, password: "x")).keyKind == "RSA, 2048 bits")
    }

    @Test func `A missing key and a missing certificate give different errors`() async throws {
        let certificates = try await export(["-nokeys"])
        let noKey = try #require(failure { _ = try PKCS12(file: certificates, password: Self.password) })
        #expect(noKey.code == .noPrivateKey)
        #expect(noKey.message.contains("contains no private key"))
        let key = try directory.write("key.pem", containing: issued.privateKeyPEM)
        let out = "\(directory.path)/key.p12"
        let ended = try await ChildProcess.run(
            "openssl", ["pkcs12", "-export", "-nocerts", "-inkey", key, "-in", key, "-out", out, "-passout", "pass:x"])
        try #require(ended.status == 0, "\(ended.errors)")
        #expect(failure { _ = try PKCS12(file: out, password: "x") }?.code == .noCertificate)
    }

    @Test func `Input that is not PKCS#12 is rejected`() throws {
        func code(_ bytes: [UInt8]) -> CryptoError.Code? { failure { _ = try PKCS12(bytes: bytes) }?.code }
        #expect(code([]) == .malformedPKCS12)
        #expect(code([0x30, 0x80]) == .malformedPKCS12)
        #expect(code(issued.certificate.der) == .malformedPKCS12)
        #expect(code([UInt8](repeating: 0x30, count: PKCS12.maxSize + 1)) == .malformedPKCS12)
        let pem = try #require(failure { _ = try PKCS12(bytes: Array(issued.privateKeyPEM.utf8)) })
        #expect(pem.code == .malformedPKCS12)
        #expect(pem.message == "the given PKCS#12 is PEM, not PKCS#12")
        let missing = try #require(failure { _ = try PKCS12(file: "/nonexistent/push.p12") })
        #expect(missing.message == "cannot open /nonexistent/push.p12: No such file or directory")
        // Reading a device would never end.
        #expect(failure { _ = try PKCS12(file: "/dev/zero") }?.code == .unreadableFile)
    }

    @Test(arguments: ["", Self.password]) func `A file without a MAC is rejected`(password: String) async throws {
        let path = try await export(["-nomac"], password: password)
        let error = try #require(failure { _ = try PKCS12(file: path, password: password) })
        #expect(error.code == .malformedPKCS12)
        #expect(error.message.contains("has no MAC"))
    }

    @Test func `A file with too many MAC iterations is rejected`() async throws {
        var bytes = try BoundedFile.read(try await export(["-iter", "65536"]), limit: PKCS12.maxSize)
        // The number of iterations is the last number in the file.
        let offset = try #require(bytes.indices.last { bytes[$0...].starts(with: [2, 3, 1, 0, 0]) })
        bytes.replaceSubrange(offset..<(offset + 5), with: [2, 3, 0x7f, 0xff, 0xff])
        let error = try #require(failure { _ = try PKCS12(bytes: bytes, password: Self.password) })
        #expect(error.code == .malformedPKCS12)
        #expect(error.message.contains("more than 5000000 iterations"))
    }

    @Test func `A truncated or changed file never yields another key`() async throws {
        let bytes = try BoundedFile.read(
            try await export(["-iter", "1"]), limit: PKCS12.maxSize)
        _ = try PKCS12(bytes: bytes, password: Self.password)
        for count in stride(from: 0, to: bytes.count, by: 23) {
            #expect(
                failure { _ = try PKCS12(bytes: Array(bytes[..<count]), password: Self.password) }?.code
                    == .malformedPKCS12)
        }
        var random = SeededRandom(seed: 1207)
        var opened = 0
        for _ in 0..<400 {
            let changed = random.mutate(bytes, chance: 1)
            do {
                let identity = try TLSIdentity(PKCS12(bytes: changed, password: Self.password))
                opened += 1
                // The MAC covers keys and certificates.
                #expect(identity.privateKeyPEM == issued.privateKeyPEM)
            } catch let error as CryptoError {
                #expect([.malformedPKCS12, .wrongPassword, .unsupportedEncryption].contains(error.code), "\(error)")
                #expect(!error.message.contains(Self.password))
            }
        }
        #expect(opened < 200)
    }
}
