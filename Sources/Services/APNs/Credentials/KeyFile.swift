import PushLoop
package import PushTransport

/// The content of a file with keys or certificates, whatever its name. `carillon keys show` uses it.
package enum KeyFile: Sendable {
    /// A private key on P-256, as provider keys are, with the key id from the file name.
    case providerKey(ES256PrivateKey, keyID: String?)
    case certificate(CertificateCredential, Format)
    /// The certificate of a push credential without its private key.
    case certificateAlone(PushCertificate, Format)
    case keyAlone(kind: String)

    package enum Format: String, Sendable {
        case pem = "PEM"
        case pkcs12 = "PKCS#12"
        case der = "DER"
    }

    /// Detects the content by its bytes. Dates are not checked. It blocks, and never prompts for a password.
    package static func read(_ path: String, password: String?) throws(CredentialError) -> KeyFile {
        do {
            return try detect(path, password: password)
        } catch {
            throw CredentialError(reading: error)
        }
    }

    private static func detect(_ path: String, password: String?) throws -> KeyFile {
        var bytes = try BoundedFile.read(path, limit: PKCS12.maxSize)
        defer { wipe(&bytes) }
        guard bytes.count <= PKCS12.maxSize else {
            throw CredentialError(
                .malformed, message: "\(path) is too large for keys and certificates: over \(PKCS12.maxSize) bytes")
        }
        // DER begins with a SEQUENCE, whose tag is 0x30; PEM is text.
        guard bytes.first == 0x30 else { return try detectPEM(path, password: password) }
        if let certificate = try? CertificateInfo(der: bytes) {
            return .certificateAlone(PushCertificate(certificate), .der)
        }
        let archive = try PKCS12(bytes: bytes, password: password, name: path)
        return .certificate(CertificateCredential(try TLSIdentity(archive)), .pkcs12)
    }

    private static func detectPEM(_ path: String, password: String?) throws -> KeyFile {
        let source = PEMSource.file(path)
        let certificate = try unless(.noCertificate) { try CertificateInfo(pem: source) }
        let key = try unless(.noPrivateKey) { try PrivateKeyInfo(pem: source, password: password) }
        switch (certificate, key) {
        case (nil, nil):
            throw CredentialError(.noPrivateKey, message: "\(path) contains neither a private key nor a certificate")
        case (let certificate?, nil):
            return .certificateAlone(PushCertificate(certificate), .pem)
        case (_?, _?):
            return .certificate(CertificateCredential(try TLSIdentity(combined: source, password: password)), .pem)
        case (nil, let key?):
            guard key.isP256 else { return .keyAlone(kind: key.kind) }
            return .providerKey(
                try ES256PrivateKey(pem: source, password: password), keyID: ProviderKeyName.keyID(in: path))
        }
    }

    /// Returns nil if reading fails with the error `missing`.
    private static func unless<Value>(_ missing: CryptoError.Code, read: () throws -> Value) throws -> Value? {
        do {
            return try read()
        } catch let error as CryptoError where error.code == missing {
            return nil
        }
    }
}
