package import ReceiptCrypto

/// The root certificates at which the chains of signed data may end.
public struct TrustedRoots: Sendable {
    package let store: TrustStore

    /// Apple Root CA - G3, at which all chains of the App Store end. It is part of the library.
    public static let apple: TrustedRoots = {
        do {
            return try TrustedRoots(der: [AppleRootCertificate.g3])
        } catch {
            fatalError("Apple's root certificate in this library is damaged: \(error)")
        }
    }()

    /// Creates a list of roots, for tests and simulators, or for a root that Apple may have later.
    ///
    /// - Parameters:
    ///   - certificates: The certificates in DER. They must be self-signed certificates of authorities.
    ///   - includingApple: Whether Apple Root CA - G3 is trusted as well.
    /// - Throws: A refusal with the code ``ReceiptRefusal/Code/malformedCertificate``.
    public init(der certificates: [[UInt8]], includingApple: Bool = false) throws(ReceiptRefusal) {
        do {
            store = try TrustStore(roots: certificates + (includingApple ? [AppleRootCertificate.g3] : []))
        } catch {
            throw ReceiptRefusal(error)
        }
    }
}

extension ReceiptRefusal {
    /// Creates the refusal for certificates that do not form a trusted chain.
    init(_ fault: CertificateFault) {
        switch fault {
        case .malformed(let position, let cause):
            self.init(.malformedCertificate, "The \(position.rawValue) certificate cannot be used: \(cause).")
        case .untrusted(let cause):
            self.init(.untrustedChain, "The certificates do not form a chain to a trusted root: \(cause).")
        case .missingPurpose(.intermediate):
            self.init(
                .wrongIntermediatePurpose,
                "The intermediate certificate is not one of Apple's for developers: it does not have the extension "
                    + "\(SigningChain.intermediatePurpose).")
        case .missingPurpose:
            self.init(
                .wrongLeafPurpose,
                "The leaf certificate is not for signing App Store data: it does not have the extension "
                    + "\(SigningChain.leafPurpose).")
        case .wrongKey:
            self.init(.wrongKey, "The leaf certificate does not have a key on the curve P-256, which ES256 needs.")
        }
    }
}
