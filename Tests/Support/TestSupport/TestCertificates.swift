package import PushTransport

/// A certificate authority and the certificates that it issued, created once per process because keys and signatures
/// take time.
package struct TestCertificates: Sendable {
    package static let shared = TestCertificates()

    package let authority: CertificateAuthority
    /// The server certificate for `localhost`, `127.0.0.1` and `::1`.
    package let server: IssuedCertificate
    /// The client certificate with the UID `com.example.app`, as in a push certificate.
    package let client: IssuedCertificate

    private init() {
        do {
            authority = try CertificateAuthority(commonName: "Carillon Test Root")
            server = try authority.issue(
                CertificateRequest(
                    commonName: "localhost", usage: .server, dnsNames: ["localhost"],
                    ipAddresses: ["127.0.0.1", "::1"]))
            client = try authority.issue(
                CertificateRequest(commonName: "Test Client", usage: .client, userID: "com.example.app"))
        } catch {
            fatalError("test certificates: \(error)")
        }
    }

    package var serverIdentity: TLSIdentity { server.identity }
    package var clientIdentity: TLSIdentity { client.identity }

    /// A trust that contains only this authority.
    package var trust: TLSTrust { .only([.text(authority.certificatePEM)]) }
}

extension TestCertificates {
    /// Returns the context of a server that presents the server certificate.
    package func serverContext(alpn: [String] = []) throws(TLSError) -> TLSContext {
        try .server(TLSServerConfiguration(identity: serverIdentity, alpn: alpn))
    }

    /// Returns the context of a client that trusts only this authority.
    package func clientContext(alpn: [String] = []) throws(TLSError) -> TLSContext {
        try .client(TLSClientConfiguration(trust: trust, alpn: alpn))
    }
}
