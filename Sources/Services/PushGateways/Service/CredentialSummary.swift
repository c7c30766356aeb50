package import PushLoop

/// What is known about the credential of an app, whatever its push service. None of it is secret.
package struct CredentialSummary: Sendable, Equatable {
    package enum Kind: String, Sendable {
        /// A key that signs provider tokens.
        case providerKey = "provider_key"
        case certificate
        /// An account with a key that signs requests for access tokens.
        case serviceAccount = "service_account"
        /// A key that identifies the app to the push services of browsers.
        case vapid
    }

    package let kind: Kind
    /// The SHA-256 digest of the certificate, or of the public key, in hexadecimal.
    package let fingerprint: String
    package var keyID: String?
    package var teamID: String?
    package var subject: String?
    package var issuer: String?
    /// The topics of a certificate; nil for a credential that does not contain any.
    package var topics: [String]?
    package var notBefore: WallTime?
    /// The end of validity; nil if the credential does not expire.
    package var notAfter: WallTime?

    package init(_ kind: Kind, fingerprint: String) {
        self.kind = kind
        self.fingerprint = fingerprint
    }

    /// Whether requests carry a token that ends, which the gateway gets.
    package var usesTokens: Bool { kind == .providerKey || kind == .serviceAccount }
}

/// The credential of an app as the configuration names it, before its files are read.
package struct CredentialSetting: Sendable, Equatable {
    package let kind: CredentialSummary.Kind
    package let file: String
    package let keyID: String?
    package let teamID: String?

    package init(_ kind: CredentialSummary.Kind, file: String, keyID: String? = nil, teamID: String? = nil) {
        self.kind = kind
        self.file = file
        self.keyID = keyID
        self.teamID = teamID
    }
}
