private import COpenSSL
import PushLoop

/// A certificate with its chain and its private key: who we are to the peer.
package struct TLSIdentity: Sendable {
    /// Our own certificate first, then those that lead to a root, as far as they were given.
    let chain: [X509Certificate]
    let key: KeyHandle
    package let certificate: CertificateInfo

    /// Certificates and key may come from the same source, in any order.
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
        // A bundle may list the chain first: ours is the one that the key fits.
        let handle = unsafe self.key.pointer
        OpenSSLErrors.clear()
        let own = found.firstIndex { unsafe X509_check_private_key($0.pointer, handle) == 1 }
        OpenSSLErrors.clear()
        guard let own else {
            let subject = CertificateInfo(found[0]).subject
            throw TLSError(
                .keyMismatch,
                "the private key in \(key.name) does not belong to the certificate in \(certificates.name) (\(subject))"
            )
        }
        var chain = found
        chain.swapAt(0, own)
        self.chain = chain
        certificate = CertificateInfo(chain[0])
    }

    /// For what `CertificateAuthority` made, which needs no checking.
    init(certificate: CertificateInfo, key: KeyHandle) {
        chain = [certificate.certificate]
        self.key = key
        self.certificate = certificate
    }

    /// One source with certificates and key.
    package init(combined source: PEMSource, password: String? = nil) throws(TLSError) {
        try self.init(certificates: source, key: source, password: password)
    }

    /// What was found in a PKCS#12 file.
    package init(_ archive: PKCS12) throws(TLSError) {
        try Self.checkKind(of: archive.key, name: archive.name)
        chain = archive.chain
        key = archive.key
        certificate = CertificateInfo(archive.chain[0])
    }

    /// Our own certificate first, then the rest of its chain.
    package var certificatesPEM: String {
        chain.map { String(decoding: $0.pem, as: UTF8.self) }.joined()
    }

    /// PKCS#8, not encrypted: to be written where only its owner reads.
    package var privateKeyPEM: String { key.privatePEMText }

    /// For people: "RSA, 2048 bits".
    package var keyKind: String { key.kind }

    private static func checkKind(of key: KeyHandle, name: String) throws(TLSError) {
        if key.isRSA {
            guard key.bits >= 2048 else {
                throw TLSError(
                    .keyTooSmall, "\(name): an RSA key of \(key.bits) bits is too weak; it takes 2048 or more")
            }
        } else if key.bits < 224 {
            throw TLSError(.keyTooSmall, "\(name): the private key is too weak (\(key.kind))")
        }
    }
}

extension TLSError {
    /// What reading keys and certificates finds, said in this area's codes.
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
        self.init(code, error.message)
    }
}
