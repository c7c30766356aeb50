package import PushLoop
import PushModel
package import PushTransport

/// The public facts about a credential, for people and programs. None of them is secret.
package struct CredentialFacts: Sendable, Equatable, Encodable {
    package enum Kind: String, Sendable, Encodable {
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

    private enum CodingKeys: String, CodingKey {
        case kind, subject, issuer, topics, environments, fingerprint
        case keyID = "key_id"
        case teamID = "team_id"
        case notBefore = "valid_from_at"
        case notAfter = "expires_at"
        case keyKind = "key_kind"
    }

    /// Encodes the facts, with times in milliseconds since 1970.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(kind, forKey: .kind)
        try fields.encodeIfPresent(keyID, forKey: .keyID)
        try fields.encodeIfPresent(teamID, forKey: .teamID)
        try fields.encodeIfPresent(subject, forKey: .subject)
        try fields.encodeIfPresent(issuer, forKey: .issuer)
        try fields.encodeIfPresent(topics, forKey: .topics)
        try fields.encodeIfPresent(environments, forKey: .environments)
        try fields.encodeIfPresent(notBefore?.milliseconds, forKey: .notBefore)
        try fields.encodeIfPresent(notAfter?.milliseconds, forKey: .notAfter)
        try fields.encodeIfPresent(keyKind, forKey: .keyKind)
        try fields.encode(fingerprint, forKey: .fingerprint)
    }
}
