/// The TLS configuration of a client. The server's chain and name are always verified; this cannot be disabled.
package struct TLSClientConfiguration: Sendable {
    package var trust: TLSTrust
    /// The certificate and key for servers that request a client certificate.
    package var identity: TLSIdentity?
    /// The protocols to offer by ALPN, best first. If any is offered, the server must select one of them.
    package var alpn: [String]
    package var minVersion: TLSVersion
    package var maxVersion: TLSVersion
    package var cipherSuites: TLSCipherSuites

    package init(
        trust: TLSTrust = .system, identity: TLSIdentity? = nil, alpn: [String] = [],
        minVersion: TLSVersion = .tls12, maxVersion: TLSVersion = .tls13,
        cipherSuites: TLSCipherSuites = TLSCipherSuites()
    ) {
        self.trust = trust
        self.identity = identity
        self.alpn = alpn
        self.minVersion = minVersion
        self.maxVersion = maxVersion
        self.cipherSuites = cipherSuites
    }
}
