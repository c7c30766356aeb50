private import COpenSSL
import PushLoop

/// The certificate, chain and private key that this side presents to the peer.
package struct TLSIdentity: Sendable {
    /// The own certificate first, then the given certificates that lead to a root.
    let chain: [X509Certificate]
    let key: KeyHandle
    package let certificate: CertificateInfo

    /// Reads the identity. Certificates and key may come from the same source, in any order.
    package init(certificates: PEMSource, key: PEMSource, password: String? = nil) throws(TLSError) {
        let found: [X509Certificate]
        do {
            found = try certificates.certificates()
        } catch {
            throw TLSError(error)
        }
        do {
            self.key = try key.privateKey(password: password)
        } catch {
            throw TLSError(error)
        }
        try Self.checkKind(of: self.key, name: key.name)
        // A bundle may list the chain first. The own certificate is the one that matches the key.
        let handle = unsafe self.key.pointer
        OpenSSLErrors.clear()
        let own = found.firstIndex { unsafe X509_check_private_key($0.pointer, handle) == 1 }
        OpenSSLErrors.clear()
        guard let own else {
            let subject = CertificateInfo(found[0]).subject
            throw TLSError(
                .keyMismatch,
                message: "the private key in \(key.name) does not belong to the certificate in \(certificates.name) "
                    + "(\(subject))")
        }
        var chain = found
        chain.swapAt(0, own)
        self.chain = chain
        certificate = CertificateInfo(chain[0])
    }

    /// Creates an identity from the output of ``CertificateAuthority``, which needs no checks.
    init(certificate: CertificateInfo, key: KeyHandle) {
        chain = [certificate.certificate]
        self.key = key
        self.certificate = certificate
    }

    /// Reads certificates and key from one source.
    package init(combined source: PEMSource, password: String? = nil) throws(TLSError) {
        try self.init(certificates: source, key: source, password: password)
    }

    /// Creates an identity from a PKCS#12 archive.
    package init(_ archive: PKCS12) throws(TLSError) {
        try Self.checkKind(of: archive.key, name: archive.name)
        chain = archive.chain
        key = archive.key
        certificate = CertificateInfo(archive.chain[0])
    }

    /// The own certificate, then the rest of its chain, as PEM.
    package var certificatesPEM: String {
        chain.map { String(decoding: $0.pem, as: UTF8.self) }.joined()
    }

    /// The key as unencrypted PKCS#8 PEM. Write it only to files that only the owner can read.
    package var privateKeyPEM: String { key.privatePEMText }

    /// The kind of key as text: "RSA, 2048 bits".
    package var keyKind: String { key.kind }

    private static func checkKind(of key: KeyHandle, name: String) throws(TLSError) {
        if key.isRSA {
            guard key.bits >= 2048 else {
                throw TLSError(
                    .keyTooSmall, message: "\(name): an RSA key of \(key.bits) bits is too weak; use at least 2048")
            }
        } else if key.bits < 224 {
            throw TLSError(.keyTooSmall, message: "\(name): the private key is too weak (\(key.kind))")
        }
    }
}

extension TLSError {
    /// Converts an error of reading keys and certificates.
    init(_ error: CryptoError) {
        let code: Code =
            switch error.code {
            case .unreadableFile: .unreadableFile
            case .missingPassword: .missingPassword
            case .wrongPassword: .wrongPassword
            case .malformedCertificate: .malformedCertificate
            case .noCertificate: .noCertificate
            case .noPrivateKey: .noPrivateKey
            case .keyMismatch: .keyMismatch
            default: .malformedPEM
            }
        self.init(code, message: error.message)
    }
}
