import PushLoop
import PushTransport
import TestSupport
import Testing

@Suite struct CertificateTests {
    private func failure(_ body: () throws -> Void) -> CryptoError? {
        do {
            try body()
            return nil
        } catch {
            return error as? CryptoError
        }
    }

    @Test("A certificate from another tool is parsed") func whatAnotherToolMadeIsRead() throws {
        let info = try CertificateInfo(pem: .text(KeyFixtures.p256Certificate))
        #expect(info.subject == "UID=com.example.shop,CN=Fixture")
        #expect(info.issuer == info.subject)
        #expect(info.commonName == "Fixture")
        #expect(info.issuerCommonName == "Fixture")
        #expect(info.userID == "com.example.shop")
        #expect(info.serial == "02")
        #expect(info.fingerprint.hex == "419577066a27319b00ba7da0f52818319cb348b3d264514f4c748644222db008")
        #expect(info.notBefore == WallTime(milliseconds: 1_735_689_600_000))
        #expect(info.notAfter == WallTime(milliseconds: 4_891_363_200_000))
        #expect(info.dnsNames == ["localhost"])
        #expect(info.ipAddresses.isEmpty)
        // The subjectKeyIdentifier is an octet string of 20 bytes.
        #expect(info.extensionValue(oid: "2.5.29.14")?.prefix(3) == [4, 20, 0xE1])
        #expect(info.extensionValue(oid: "1.2.840.113635.100.6.3.6") == nil)
        #expect(info.extensionValue(oid: "nonsense") == nil)
    }

    @Test("DER is parsed up to its end") func derIsReadToItsEnd() throws {
        let info = try CertificateInfo(pem: .text(KeyFixtures.p256Certificate))
        let again = try CertificateInfo(der: info.der)
        #expect(again.fingerprint == info.fingerprint)
        #expect(again.pem == info.pem)
        #expect(SHA256.hash(info.der) == info.fingerprint)
        for wrong in [[], Array(info.der.dropLast()), info.der + [0], [0x30, 0x80], Array(KeyFixtures.p256Key.utf8)] {
            #expect(failure { _ = try CertificateInfo(der: wrong) }?.code == .malformedCertificate)
        }
    }

    @Test("Mutated DER is parsed or rejected") func mutatedDER() throws {
        let der = try CertificateInfo(pem: .text(TestCertificates.shared.server.certificatePEM)).der
        var random = SeededRandom(seed: 509)
        var read = 0
        for _ in 0..<2_000 {
            var bytes = der
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            if let info = try? CertificateInfo(der: bytes) {
                read += 1
                #expect(info.subject.unicodeScalars.allSatisfy { $0.value >= 0x20 })
                _ = info.extensionValue(oid: "2.5.29.17")
            }
        }
        // Most of a certificate consists of names, keys and a signature, which may have any content.
        #expect(read > 100)
        #expect(read < 2_000)
    }

    @Test("An authority issues the requested certificate") func anAuthorityIssuesWhatWasAskedFor() throws {
        let authority = try CertificateAuthority(commonName: "Root, \"quoted\"")
        #expect(authority.certificate.commonName == "Root, \"quoted\"")
        let begin = WallTime(milliseconds: 1_600_000_000_000)
        let end = WallTime(milliseconds: 4_000_000_000_000)
        let topics: [UInt8] = [0x30, 3, 0x0C, 1, 0x61]
        let issued = try authority.issue(
            CertificateRequest(
                commonName: "Apple Push Services: com.example.\u{FC}", usage: .serverAndClient,
                dnsNames: ["push.example.com", "*.example.org"], ipAddresses: ["192.0.2.1", "2001:db8::1"],
                userID: "com.example.\u{FC}", validity: CertificateValidity(notBefore: begin, notAfter: end),
                extensions: [
                    .init(oid: "1.2.840.113635.100.6.3.6", value: topics),
                    .init(oid: "1.2.840.113635.100.6.3.2", value: [5, 0]),
                ]))
        // Through PEM, as another process would read it.
        let info = try CertificateInfo(pem: .text(issued.certificatePEM))
        #expect(info.commonName == "Apple Push Services: com.example.\u{FC}")
        #expect(info.userID == "com.example.\u{FC}")
        #expect(info.issuer == authority.certificate.subject)
        #expect(info.notBefore == begin)
        #expect(info.notAfter == end)
        #expect(info.dnsNames == ["push.example.com", "*.example.org"])
        #expect(info.ipAddresses == ["192.0.2.1", "2001:db8::1"])
        #expect(info.extensionValue(oid: "1.2.840.113635.100.6.3.6") == topics)
        #expect(info.extensionValue(oid: "1.2.840.113635.100.6.3.2") == [5, 0])
        #expect(info.serial.count == 32)
        let other = try authority.issue(CertificateRequest(commonName: "x", usage: .client))
        #expect(other.certificate.serial != info.serial)
        #expect(other.privateKeyPEM != issued.privateKeyPEM)
        #expect(other.certificate.dnsNames.isEmpty)
    }

    @Test("An authority can be stored and loaded") func anAuthorityCanBeKept() throws {
        let authority = try CertificateAuthority(commonName: "Kept")
        let again = try CertificateAuthority(
            certificate: .text(authority.certificatePEM), key: .text(authority.privateKeyPEM))
        let issued = try again.issue(CertificateRequest(commonName: "x", usage: .server, dnsNames: ["localhost"]))
        // A client that trusts the stored authority trusts the certificates of the loaded one.
        var pair = try TLSPair(
            client: TLSClientConfiguration(trust: .only([.text(authority.certificatePEM)])),
            server: TLSServerConfiguration(identity: issued.identity))
        try pair.connect()
        #expect(pair.client.state == .established)

        let other = try CertificateAuthority(commonName: "Other")
        #expect(
            failure {
                _ = try CertificateAuthority(
                    certificate: .text(authority.certificatePEM), key: .text(other.privateKeyPEM))
            }?.code == .keyMismatch)
        #expect(
            failure {
                _ = try CertificateAuthority(
                    certificate: .text(issued.certificatePEM), key: .text(issued.privateKeyPEM))
            }?.code == .invalidRequest)
    }

    @Test("Invalid requests are rejected") func requestsThatCannotBeMet() throws {
        let authority = TestCertificates.shared.authority
        func request(_ change: (inout CertificateRequest) -> Void) -> CertificateRequest {
            var request = CertificateRequest(commonName: "x", usage: .server)
            change(&request)
            return request
        }
        let now = WallTime.current()
        let wrong = [
            request { $0.dnsNames = ["a,IP:127.0.0.1"] }, request { $0.dnsNames = [""] },
            request { $0.dnsNames = ["a b"] }, request { $0.ipAddresses = ["1.2.3"] },
            request { $0.ipAddresses = ["localhost"] }, request { $0.commonName = String(repeating: "x", count: 65) },
            request { $0.extensions = [.init(oid: "no.oid", value: [])] },
            request { $0.validity = CertificateValidity(notBefore: now, notAfter: now) },
        ]
        for request in wrong {
            #expect(failure { _ = try authority.issue(request) }?.code == .invalidRequest)
        }
    }
}
