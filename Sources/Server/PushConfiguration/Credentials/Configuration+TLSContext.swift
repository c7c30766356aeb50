import APNs
import PushGateways
package import PushTransport

extension Configuration.HTTP.TLS {
    /// Reads the certificate, its key and the password. It blocks.
    package func identity() throws -> TLSIdentity {
        let password = try CredentialFiles.password(in: passwordFile)
        let isArchive = [".p12", ".pfx"].contains { certificate.lowercased().hasSuffix($0) }
        return key == nil && isArchive
            ? try TLSIdentity(PKCS12(file: certificate, password: password))
            : try TLSIdentity(
                certificates: .file(certificate), key: .file(key ?? certificate), password: password)
    }

    /// Returns the TLS context of a server with an identity.
    package func context(_ identity: TLSIdentity) throws -> TLSContext {
        try .server(TLSServerConfiguration(identity: identity, alpn: ["http/1.1"]))
    }
}
