package import PushLoop
import PushModel
package import PushTransport
package import PushWire

/// The public facts about a credential, for people and programs. None of them is secret.
package struct CredentialFacts: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case providerKey = "provider_key"
        case certificate
    }

    package let kind: Kind
    package var keyID: String?
    package var teamID: String?
    package var subject: String?
    package var issuer: String?
    /// The topics of a certificate; nil for a provider key, which does not contain any.
    package var topics: [CertificateTopic]?
    package var environments: [PushEnvironment]?
    package var notBefore: WallTime?
    /// The end of validity; nil if the credential does not expire.
    package var notAfter: WallTime?
    /// The kind and size of the key, such as "RSA, 2048 bits".
    package var keyKind: String?
    /// The SHA-256 digest of the certificate, or of the public key, in hexadecimal.
    package let fingerprint: String

    package init(_ key: ProviderKey) {
        self.init(key.key.publicKey)
        keyID = key.keyID
        teamID = key.teamID
    }

    /// Describes a key without key id and team id.
    package init(_ key: ES256PublicKey) {
        kind = .providerKey
        keyKind = "EC, 256 bits"
        fingerprint = key.fingerprint.hex
    }

    package init(_ credential: CertificateCredential) {
        self.init(credential.certificate)
        keyKind = credential.identity.keyKind
    }

    /// Describes a certificate without its private key.
    package init(_ certificate: PushCertificate) {
        kind = .certificate
        subject = certificate.info.subject
        issuer = certificate.info.issuer
        topics = certificate.topics
        environments = certificate.environments
        notBefore = certificate.info.notBefore
        notAfter = certificate.info.notAfter
        fingerprint = certificate.info.fingerprint.hex
    }

    /// The facts in JSON, with times in milliseconds since 1970.
    package var value: JSONValue {
        var members: [String: JSONValue] = ["kind": .string(kind.rawValue), "fingerprint": .string(fingerprint)]
        let texts = [
            ("key_id", keyID), ("team_id", teamID), ("subject", subject), ("issuer", issuer), ("key_kind", keyKind),
        ]
        for (name, text) in texts { members[name] = text.map { .string($0) } }
        members["topics"] = topics.map { topics in
            .array(topics.map { ["name": .string($0.name), "kinds": .array($0.kinds.map { .string($0.rawValue) })] })
        }
        members["environments"] = environments.map { .array($0.map { .string($0.rawValue) }) }
        members["valid_from_at"] = notBefore.map { .integer($0.milliseconds) }
        members["expires_at"] = notAfter.map { .integer($0.milliseconds) }
        return .object(members)
    }
}
