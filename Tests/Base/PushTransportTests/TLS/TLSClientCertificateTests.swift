import PushTransport
import TestSupport
import Testing

/// Tests of the verification of clients by a server.
@Suite struct TLSClientCertificateTests {
    private let certificates = TestCertificates.shared

    private func pair(
        identity: TLSIdentity?, asking: (TLSTrust) -> TLSClientCertificates, version: TLSVersion
    ) throws -> TLSPair {
        try TLSPair(
            client: TLSClientConfiguration(trust: certificates.trust, identity: identity, maxVersion: version),
            server: TLSServerConfiguration(
                identity: certificates.serverIdentity, clientCertificates: asking(certificates.trust)))
    }

    @Test("A trusted client is identified", arguments: [TLSVersion.tls12, .tls13])
    func aTrustedClientIsKnown(_ version: TLSVersion) throws {
        for asking in [TLSClientCertificates.required, TLSClientCertificates.optional] {
            var pair = try pair(identity: certificates.clientIdentity, asking: asking, version: version)
            try pair.connect()
            #expect(pair.server.session?.peerCertificate?.commonName == "Test Client")
            #expect(pair.server.session?.peerCertificate?.userID == "com.example.app")
            try pair.client.write([1, 2, 3])
            try pair.run()
            #expect(pair.serverReceived == [1, 2, 3])
        }
    }

    @Test("A client without a required certificate is rejected", arguments: [TLSVersion.tls12, .tls13])
    func aClientWithoutOneIsRefusedWhereItIsRequired(_ version: TLSVersion) throws {
        var pair = try pair(identity: nil, asking: TLSClientCertificates.required, version: version)
        let errors = try pair.connectExpectingFailure()
        #expect(errors.server?.code == .noPeerCertificate)
        let error = try #require(errors.client)
        #expect(error.disposition == .terminal)
        // TLS 1.2 has no separate alert for it.
        #expect(error.code == (version == .tls13 ? .peerRequiresCertificate : .noCommonCipher))
        #expect(error.alert == (version == .tls13 ? 116 : 40))
        #expect(error.message.contains("requires a client certificate"))
    }

    @Test("A client without an optional certificate is accepted", arguments: [TLSVersion.tls12, .tls13])
    func aClientWithoutOneIsServedWhereItIsOptional(_ version: TLSVersion) throws {
        var pair = try pair(identity: nil, asking: TLSClientCertificates.optional, version: version)
        try pair.connect()
        #expect(pair.server.state == .established)
        #expect(pair.server.session?.peerCertificate == nil)
    }

    @Test("An untrusted client is rejected", arguments: [TLSVersion.tls12, .tls13])
    func anUntrustedClientIsRefused(_ version: TLSVersion) throws {
        let other = try CertificateAuthority(commonName: "Unknown Root")
        let stranger = try other.issue(CertificateRequest(commonName: "Stranger", usage: .client))
        for asking in [TLSClientCertificates.required, TLSClientCertificates.optional] {
            var pair = try pair(identity: stranger.identity, asking: asking, version: version)
            let errors = try pair.connectExpectingFailure()
            #expect(errors.server?.code == .untrustedIssuer)
            #expect(errors.server?.message.contains("CN=Unknown Root") == true)
            #expect(errors.client?.code == .peerRefusedCertificate)
            #expect(errors.client?.alert == 48)
            #expect(errors.client?.disposition == .terminal)
        }
    }

    @Test("A server certificate is not valid for a client") func aServersCertificateIsNoClients() throws {
        var pair = try pair(
            identity: certificates.serverIdentity, asking: TLSClientCertificates.required, version: .tls13)
        #expect(try pair.connectExpectingFailure().server?.code == .certificateRejected)
    }
}
