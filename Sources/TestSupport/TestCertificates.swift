package import PushTransport

/// A certificate authority and what it issued, made once in a process: keys and signatures take time.
package struct TestCertificates: Sendable {
    package static let shared = TestCertificates()

    package let authority: CertificateAuthority
    /// For `localhost`, `127.0.0.1` and `::1`.
    package let server: IssuedCertificate
    /// With the UID `com.example.app`, as a push certificate has it.
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

    /// Trusts this authority and no other.
    package var trust: TLSTrust { .only([.text(authority.certificatePEM)]) }
}
