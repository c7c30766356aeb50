package import PushLoop
import PushModel
package import PushTransport

/// The identity of an app at the push service.
package enum Credential: Sendable {
    /// A key that signs provider tokens.
    case providerKey(ProviderKey)
    /// A certificate for the TLS handshake.
    case certificate(CertificateCredential)

    package var facts: CredentialFacts {
        switch self {
        case .providerKey(let key): CredentialFacts(key)
        case .certificate(let certificate): CredentialFacts(certificate)
        }
    }

    /// Checks whether the credential can push for this topic. Only Apple can check that for a provider key, so a key
    /// always passes.
    ///
    /// - Parameter pushTypes: the push types that the app sends; empty means `alert`.
    /// - Throws: `wrongTopic`, `wrongEnvironment` or `needsProviderToken`.
    package func check(
        topic: String, environment: PushEnvironment, pushTypes: [PushType] = []
    ) throws(CredentialError) {
        if case .certificate(let certificate) = self {
            try certificate.check(topic: topic, environment: environment, pushTypes: pushTypes)
        }
    }
}

/// A push certificate with its private key and chain.
package struct CertificateCredential: Sendable {
    package let identity: TLSIdentity
    package let certificate: PushCertificate

    package init(_ identity: TLSIdentity) {
        self.identity = identity
        certificate = PushCertificate(identity.certificate)
    }

    /// Throws `expired` or `notYetValid` if the certificate is not valid at `now`.
    package func checkDates(at now: WallTime) throws(CredentialError) {
        let info = certificate.info
        if now >= info.notAfter {
            throw CredentialError(
                .expired,
                message: "the certificate \(info.subject) expired at \(info.notAfter.utcText); make a new one on "
                    + "Apple's developer site, or use a provider key (.p8), which does not expire")
        }
        if now < info.notBefore {
            throw CredentialError(
                .notYetValid,
                message: "the certificate \(info.subject) is not valid before \(info.notBefore.utcText); check this "
                    + "machine's clock, which shows \(now.utcText)")
        }
    }

    func check(topic: String, environment: PushEnvironment, pushTypes: [PushType]) throws(CredentialError) {
        let subject = certificate.info.subject
        guard certificate.environments.contains(environment) else {
            let others = certificate.environments.map(\.rawValue).joined(separator: ", ")
            throw CredentialError(
                .wrongEnvironment,
                message: "the certificate \(subject) is for \(others), not for \(environment.rawValue); use one for "
                    + "\(environment.rawValue), or set the app's environment to \(others)")
        }
        for type in pushTypes.isEmpty ? [.alert] : pushTypes {
            guard !type.needsProviderToken else {
                throw CredentialError(
                    .needsProviderToken,
                    message: "push type \(type.rawValue) cannot be sent with a certificate (\(subject)); use a "
                        + "provider key (.p8)")
            }
            let needed = type.topic(of: topic)
            guard certificate.covers(needed) else {
                throw CredentialError(
                    .wrongTopic,
                    message: "the certificate \(subject) does not cover the topic \(shown(needed)); it covers "
                        + "\(listing); use the certificate of this app, or a provider key (.p8), which covers all "
                        + "apps of a team")
            }
        }
    }

    private var listing: String {
        let names = certificate.topics.map(\.name)
        guard !names.isEmpty else { return "no topic, as it is not a push certificate" }
        return names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
    }
}
