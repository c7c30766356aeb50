/// The certificates that are trusted.
package enum TLSTrust: Sendable {
    /// The system's root certificates.
    case system
    /// The system's root certificates and the given ones.
    case systemAnd([PEMSource])
    /// The given certificates only.
    case only([PEMSource])
}

package enum TLSVersion: Sendable {
    case tls12
    case tls13
}

/// Cipher suites in OpenSSL's notation, for installations that must deviate from the default. Nil keeps the default.
package struct TLSCipherSuites: Sendable {
    package var tls12: String?
    package var tls13: String?

    package init(tls12: String? = nil, tls13: String? = nil) {
        self.tls12 = tls12
        self.tls13 = tls13
    }
}

/// The TLS configuration of a client. The server's chain and name are always verified; this cannot be disabled.
package struct TLSClientConfiguration: Sendable {
    package var trust: TLSTrust
    /// The certificate and key for servers that request a client certificate.
    package var identity: TLSIdentity?
    /// The protocols to offer by ALPN, best first. If any is offered, the server must select one of them.
    package var alpn: [String]
    package var minimumVersion: TLSVersion
    package var maximumVersion: TLSVersion
    package var cipherSuites: TLSCipherSuites

    package init(
        trust: TLSTrust = .system, identity: TLSIdentity? = nil, alpn: [String] = [],
        minimumVersion: TLSVersion = .tls12, maximumVersion: TLSVersion = .tls13,
        cipherSuites: TLSCipherSuites = TLSCipherSuites()
    ) {
        self.trust = trust
        self.identity = identity
        self.alpn = alpn
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.cipherSuites = cipherSuites
    }
}

/// Whether a server requests certificates from its clients.
package enum TLSClientCertificates: Sendable {
    case none
    /// A client may send a certificate. If it does, the certificate must be trusted.
    case optional(TLSTrust)
    case required(TLSTrust)
}

package struct TLSServerConfiguration: Sendable {
    package var identity: TLSIdentity
    /// The protocols that the server supports, best first. A client that offers only other protocols is rejected; a
    /// client that offers none is not.
    package var alpn: [String]
    package var clientCertificates: TLSClientCertificates
    package var minimumVersion: TLSVersion
    package var maximumVersion: TLSVersion
    package var cipherSuites: TLSCipherSuites

    package init(
        identity: TLSIdentity, alpn: [String] = [], clientCertificates: TLSClientCertificates = .none,
        minimumVersion: TLSVersion = .tls12, maximumVersion: TLSVersion = .tls13,
        cipherSuites: TLSCipherSuites = TLSCipherSuites()
    ) {
        self.identity = identity
        self.alpn = alpn
        self.clientCertificates = clientCertificates
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.cipherSuites = cipherSuites
    }
}
