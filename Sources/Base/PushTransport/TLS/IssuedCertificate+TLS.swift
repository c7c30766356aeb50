extension IssuedCertificate {
    /// The certificate and its key, for a TLS context.
    package var identity: TLSIdentity {
        TLSIdentity(certificate: certificate, key: key)
    }
}
