/// Whose certificates are believed.
package enum TLSTrust: Sendable {
    /// The roots that the system trusts.
    case system
    /// The system's roots and these certificates.
    case systemAnd([PEMSource])
    /// These certificates and no other.
    case only([PEMSource])
}

package enum TLSVersion: Sendable {
    case tls12
    case tls13
}

/// Cipher suites in OpenSSL's notation, for those who must deviate from the default. Nil keeps the default.
package struct TLSCipherSuites: Sendable {
    package var tls12: String?
    package var tls13: String?

    package init(tls12: String? = nil, tls13: String? = nil) {
        self.tls12 = tls12
        self.tls13 = tls13
    }
}

/// Chain and name of the server are always verified; there is no switch for it.
package struct TLSClientConfiguration: Sendable {
    package var trust: TLSTrust
    /// What we show to a server that asks who we are.
    package var identity: TLSIdentity?
    /// Protocols to offer, best first. If any are offered, the server must pick one of them.
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

/// Whether a server wants to know who its clients are.
package enum TLSClientCertificates: Sendable {
    case none
    /// A client may send one; one that is sent must be trusted.
    case optional(TLSTrust)
    case required(TLSTrust)
}

package struct TLSServerConfiguration: Sendable {
    package var identity: TLSIdentity
    /// Protocols we speak, best first. A client that offers only others is refused; one that offers none is not.
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
