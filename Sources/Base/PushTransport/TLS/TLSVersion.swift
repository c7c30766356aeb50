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
