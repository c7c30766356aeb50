import PushGateways
package import PushTransport

extension Configuration.HTTP.TLS {
    /// Reads the certificate, its key and the password, and returns a TLS context for a server. It blocks.
    package func context() throws -> TLSContext {
        let password = try CredentialFiles.password(in: passwordFile)
        let isArchive = [".p12", ".pfx"].contains { certificate.lowercased().hasSuffix($0) }
        let identity =
            key == nil && isArchive
            ? try TLSIdentity(PKCS12(file: certificate, password: password))
            : try TLSIdentity(
                certificates: .file(certificate), key: .file(key ?? certificate), password: password)
        return try .server(TLSServerConfiguration(identity: identity, alpn: ["http/1.1"]))
    }
}
