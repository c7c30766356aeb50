import Foundation
import PushTransport
import TestSupport
import Testing

@Suite struct TLSIdentityTests {
    private let certificates = TestCertificates.shared

    private func connects(as identity: TLSIdentity, trusting root: String) throws -> Bool {
        var pair = try TLSPair(
            client: TLSClientConfiguration(trust: .only([.text(root)])),
            server: TLSServerConfiguration(identity: identity))
        try pair.connect()
        return pair.client.state == .established
    }

    @Test("Certificate and key may be in one source in any order")
    func certificateAndKeyInOneSourceInAnyOrder() throws {
        let certificate = certificates.server.certificatePEM
        let key = certificates.server.privateKeyPEM
        let root = certificates.authority.certificatePEM
        for pem in [
            certificate + key, key + certificate, root + key + certificate, "comment\n\n" + key + root + certificate,
        ] {
            let identity = try TLSIdentity(combined: .text(pem))
            #expect(identity.certificate.commonName == "localhost")
            #expect(try connects(as: identity, trusting: root))
        }
    }

    @Test("Errors contain the file name") func filesAreNamedInErrors() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("carillon-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        func file(_ name: String, _ text: String) throws -> PEMSource {
            let path = directory.appendingPathComponent(name).path
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return .file(path)
        }
        let certificate = try file("cert.pem", certificates.server.certificatePEM)
        let key = try file("key.pem", certificates.server.privateKeyPEM)
        let other = try file("other.pem", certificates.client.privateKeyPEM)
        let torn = try file("torn.pem", String(certificates.server.privateKeyPEM.dropLast(40)))
        let damaged = try file("damaged.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")

        _ = try TLSIdentity(certificates: certificate, key: key)
        func failure(_ certificates: PEMSource, _ key: PEMSource) throws -> TLSError {
            let error = try #require(tlsError { _ = try TLSIdentity(certificates: certificates, key: key) })
            #expect(error.disposition == .terminal)
            return error
        }
        let mismatch = try failure(certificate, other)
        #expect(mismatch.code == .keyMismatch)
        #expect(mismatch.message.contains("other.pem") && mismatch.message.contains("cert.pem"))
        let noCertificate = try failure(key, key)
        #expect(noCertificate.code == .noCertificate)
        #expect(noCertificate.message.contains("key.pem contains no certificate, only PRIVATE KEY"))
        let noKey = try failure(certificate, certificate)
        #expect(noKey.code == .noPrivateKey)
        #expect(noKey.message.contains("cert.pem contains no private key, only CERTIFICATE"))
        let missing = try failure(certificate, .file("\(directory.path)/absent.pem"))
        #expect(missing.code == .unreadableFile)
        #expect(missing.message.hasSuffix("absent.pem: No such file or directory"))
        #expect(try failure(certificate, torn).code == .malformedPEM)
        #expect(try failure(certificate, torn).message.contains("torn.pem"))
        #expect(try failure(damaged, key).code == .malformedCertificate)
        #expect(try failure(damaged, key).message.contains("damaged.pem"))
    }

    @Test("A system without root certificates is detected") func anEmptySystemIsNoticed() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("carillon-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("cert.pem").path
        #expect(!SystemRoots.areInstalled(file: file, directories: "/nonexistent"))
        #expect(!SystemRoots.areInstalled(file: file, directories: "\(directory.path):/nonexistent"))
        try certificates.authority.certificatePEM.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(SystemRoots.areInstalled(file: file, directories: "/nonexistent"))
        #expect(SystemRoots.areInstalled(file: "/nonexistent", directories: "/nonexistent:\(directory.path)"))
    }

    @Test("Encrypted keys need the password") func encryptedKeys() throws {
        for key in [KeyFixtures.p256KeyEncrypted, KeyFixtures.p256KeyEncryptedTraditionally] {
            let certificate = PEMSource.text(KeyFixtures.p256Certificate)
            let identity = try TLSIdentity(
                certificates: certificate, key: .text(key), password: KeyFixtures.password)
            #expect(try connects(as: identity, trusting: KeyFixtures.p256Certificate))
            #expect(
                tlsError { _ = try TLSIdentity(certificates: certificate, key: .text(key)) }?.code == .missingPassword)
            let wrong = tlsError {
                _ = try TLSIdentity(certificates: certificate, key: .text(key), password: "open")
            }
            #expect(wrong?.code == .wrongPassword)
        }
    }

    @Test("An RSA key works as well", arguments: [TLSVersion.tls12, .tls13])
    func anRSAKeyIsServedToo(_ version: TLSVersion) throws {
        let identity = try TLSIdentity(
            certificates: .text(KeyFixtures.rsa2048Certificate), key: .text(KeyFixtures.rsa2048Key))
        var pair = try TLSPair(
            client: TLSClientConfiguration(
                trust: .only([.text(KeyFixtures.rsa2048Certificate)]), maxVersion: version),
            server: TLSServerConfiguration(identity: identity))
        try pair.connect()
        #expect(pair.client.state == .established)
    }

    @Test("Weak keys are rejected") func weakKeysAreRefused() throws {
        let error = try #require(
            tlsError {
                _ = try TLSIdentity(
                    certificates: .text(KeyFixtures.rsa1024Certificate), key: .text(KeyFixtures.rsa1024Key))
            })
        #expect(error.code == .keyTooSmall)
        #expect(error.message.contains("1024"))
    }
}
