import PushLoop
import PushTransport
import TestSupport
import Testing

/// Tests of the verification of a server by a client.
@Suite struct TLSVerificationTests {
    private let certificates = TestCertificates.shared

    /// Returns the errors of both sides if the client trusts `trust` and the server presents `identity`.
    private func failure(
        _ identity: TLSIdentity, trust: TLSTrust? = nil, name: String = "localhost", version: TLSVersion = .tls13
    ) throws -> (client: TLSError, server: TLSError) {
        var pair = try TLSPair(
            client: TLSClientConfiguration(trust: trust ?? certificates.trust, maxVersion: version),
            server: TLSServerConfiguration(identity: identity), serverName: name)
        let errors = try pair.connectExpectingFailure()
        let client = try #require(errors.client)
        #expect(client.disposition == .terminal)
        #expect(pair.client.session == nil)
        // The peer received our alert and knows the reason.
        let server = try #require(errors.server)
        #expect(server.alert != nil)
        return (client, server)
    }

    private func server(
        _ names: [String] = ["localhost"], addresses: [String] = [], validity: CertificateValidity? = nil,
        usage: CertificateRequest.Usage = .server
    ) throws -> TLSIdentity {
        try certificates.authority.issue(
            CertificateRequest(
                commonName: "A Server", usage: usage, dnsNames: names, ipAddresses: addresses, validity: validity)
        ).identity
    }

    private func connects(_ identity: TLSIdentity, trust: TLSTrust? = nil, name: String) throws -> Bool {
        var pair = try TLSPair(
            client: TLSClientConfiguration(trust: trust ?? certificates.trust),
            server: TLSServerConfiguration(identity: identity), serverName: name)
        do {
            try pair.connect()
        } catch let error as TLSError {
            #expect(error.code == .hostNameMismatch)
            return false
        }
        return pair.client.state == .established
    }

    @Test("A certificate for another host is rejected", arguments: [TLSVersion.tls12, .tls13])
    func anotherHost(_ version: TLSVersion) throws {
        let error = try failure(server(["a.example", "b.example"]), name: "c.example", version: version).client
        #expect(error.code == .hostNameMismatch)
        #expect(error.message.contains("c.example"))
        #expect(error.message.contains("a.example, b.example"))
    }

    @Test(
        "Names and wildcards match as specified",
        arguments: [
            ("www.example.com", true), ("WWW.example.COM", true), ("www.example.com.", true), ("example.com", false),
            ("a.b.example.com", false), ("other.example", false), ("partial.example.net", false),
        ])
    func namesAndWildcards(_ name: String, _ isCovered: Bool) throws {
        let identity = try server(["*.example.com", "par*.example.net"])
        #expect(try connects(identity, name: name) == isCovered)
    }

    @Test(
        "Addresses match their entries",
        arguments: [
            ("127.0.0.1", true), ("::1", true), ("0:0:0:0:0:0:0:1", true), ("127.0.0.2", false), ("::2", false),
        ])
    func addresses(_ name: String, _ isCovered: Bool) throws {
        #expect(try connects(certificates.serverIdentity, name: name) == isCovered)
    }

    @Test("An address does not match a DNS name") func anAddressIsNotMatchedByAName() throws {
        // The certificate has "127.0.0.1" as a DNS name, but only an IP entry counts.
        #expect(try !connects(server(["127.0.0.1"]), name: "127.0.0.1"))
        #expect(try connects(server(["127.0.0.1"], addresses: ["127.0.0.1"]), name: "127.0.0.1"))
    }

    @Test("The common name is not a host name") func theCommonNameIsNoHostName() throws {
        let named = try certificates.authority.issue(CertificateRequest(commonName: "localhost", usage: .server))
        #expect(try !connects(named.identity, name: "localhost"))
    }

    @Test("The server name is sent only for names, not for addresses") func theServerNameIsSentForNamesOnly() throws {
        func firstFlight(_ name: String) throws -> [UInt8] {
            let pair = try TLSPair(serverName: name)
            try pair.client.start()
            return pair.client.takeOutput()
        }
        let named = Array("push.example.com".utf8)
        #expect(try firstFlight("push.example.com").contains(named))
        #expect(try firstFlight("push.example.com.").contains(named + [UInt8(ascii: ".")]) == false)
        #expect(try !firstFlight("192.0.2.17").contains(Array("192.0.2.17".utf8)))
    }

    @Test("An expired certificate is rejected") func expired() throws {
        let end = WallTime(milliseconds: 1_772_366_400_000)
        let identity = try server(
            validity: CertificateValidity(notBefore: WallTime(milliseconds: 1_700_000_000_000), notAfter: end))
        let errors = try failure(identity)
        #expect(errors.client.code == .certificateExpired)
        #expect(errors.client.message.contains("CN=A Server expired on 2026-03-01T12:00:00Z"))
        #expect(errors.server.code == .peerRefusedCertificate)
        #expect(errors.server.message.contains("as expired"))
    }

    @Test("A certificate that is not valid yet is rejected") func notYetValid() throws {
        let begin = WallTime(milliseconds: 4_102_444_800_000)
        let identity = try server(
            validity: CertificateValidity(notBefore: begin, notAfter: WallTime(milliseconds: 4_202_444_800_000)))
        let error = try failure(identity).client
        #expect(error.code == .certificateNotYetValid)
        #expect(error.message.contains("not valid before 2100-01-01T00:00:00Z"))
    }

    @Test("An unknown issuer is rejected") func unknownIssuer() throws {
        let other = try CertificateAuthority(commonName: "Some Other Root")
        let errors = try failure(certificates.serverIdentity, trust: .only([.text(other.certificatePEM)]))
        #expect(errors.client.code == .untrustedIssuer)
        #expect(errors.client.message.contains("issuer CN=Carillon Test Root of certificate CN=localhost"))
        #expect(errors.server.code == .peerRefusedCertificate)
        #expect(errors.server.alert == 48)
    }

    @Test("The system's roots do not trust the test authority") func theSystemDoesNotTrustUs() throws {
        #expect(try failure(certificates.serverIdentity, trust: .system).client.code == .untrustedIssuer)
        var pair = try TLSPair(
            client: TLSClientConfiguration(trust: .systemAnd([.text(certificates.authority.certificatePEM)])))
        try pair.connect()
        #expect(pair.client.state == .established)
    }

    @Test("A root certificate that the server sends is not trusted") func anIssuerThatSendsItsOwnRoot() throws {
        let other = try CertificateAuthority(commonName: "Sent Along")
        let issued = try other.issue(CertificateRequest(commonName: "x", usage: .server, dnsNames: ["localhost"]))
        let identity = try TLSIdentity(
            certificates: .text(issued.certificatePEM + other.certificatePEM), key: .text(issued.privateKeyPEM))
        let error = try failure(identity).client
        #expect(error.code == .untrustedIssuer)
        #expect(error.message.contains("CN=Sent Along"))
    }

    @Test("A self-signed certificate is rejected unless it is trusted") func selfSigned() throws {
        let own = try CertificateAuthority.selfSigned(
            CertificateRequest(commonName: "Alone", usage: .server, dnsNames: ["localhost"]))
        let error = try failure(own.identity).client
        #expect(error.code == .selfSignedCertificate)
        #expect(error.message.contains("CN=Alone"))
        // A certificate that is trusted explicitly is accepted.
        #expect(try connects(own.identity, trust: .only([.text(own.certificatePEM)]), name: "localhost"))
    }

    @Test("A pinned certificate needs no root") func aPinnedCertificateNeedsNoRoot() throws {
        let pin = TLSTrust.only([.text(certificates.server.certificatePEM)])
        #expect(try connects(certificates.serverIdentity, trust: pin, name: "localhost"))
        #expect(try failure(server(), trust: pin).client.code == .untrustedIssuer)
    }

    @Test("A client certificate is not valid for a server") func aClientsCertificateIsNoServers() throws {
        let error = try failure(server(usage: .client)).client
        #expect(error.code == .certificateRejected)
        #expect(error.message.contains("purpose"))
    }

    @Test(
        "Malformed server names are rejected",
        arguments: ["", " ", "a b", "caf\u{E9}.example", "a\u{0}b", String(repeating: "a", count: 300)])
    func malformedServerNames(_ name: String) throws {
        let context = try TLSContext.client(TLSClientConfiguration(trust: certificates.trust))
        let error = tlsError { _ = try TLSEngine(context: context, role: .client(serverName: name)) }
        #expect(error?.code == .invalidConfiguration)
    }
}
