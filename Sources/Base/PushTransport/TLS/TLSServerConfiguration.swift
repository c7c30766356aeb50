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
    package var minVersion: TLSVersion
    package var maxVersion: TLSVersion
    package var cipherSuites: TLSCipherSuites

    package init(
        identity: TLSIdentity, alpn: [String] = [], clientCertificates: TLSClientCertificates = .none,
        minVersion: TLSVersion = .tls12, maxVersion: TLSVersion = .tls13,
        cipherSuites: TLSCipherSuites = TLSCipherSuites()
    ) {
        self.identity = identity
        self.alpn = alpn
        self.clientCertificates = clientCertificates
        self.minVersion = minVersion
        self.maxVersion = maxVersion
        self.cipherSuites = cipherSuites
    }
}
