package import PushTransport
import PushWire

/// A key for signing provider tokens, with its key id and team id. The private key is never printed.
///
/// Two keys are equal if team, key id and public key are equal. So a reload of the same files gives an equal key, which
/// keeps its token.
package struct ProviderKey: Hashable, Sendable, CustomStringConvertible {
    package let teamID: String
    package let keyID: String
    package let key: ES256PrivateKey
    /// The SHA-256 digest of the public key in DER.
    package let fingerprint: Digest256

    /// - Throws: `badKeyID` or `badTeamID`.
    package init(teamID: String, keyID: String, key: ES256PrivateKey) throws(CredentialError) {
        guard ProviderTokenText.isIdentifier(keyID) else {
            throw CredentialError(
                .badKeyID,
                message: "\"\(shown(keyID, limit: 20))\" is not a key id; a key id has 10 characters of A–Z and 0–9, "
                    + "and is in the file name, AuthKey_KEYID.p8, and beside the key on Apple's developer site")
        }
        guard ProviderTokenText.isIdentifier(teamID) else {
            throw CredentialError(
                .badTeamID,
                message: "\"\(shown(teamID, limit: 20))\" is not a team id; a team id has 10 characters of A–Z and "
                    + "0–9, and is on the membership page of Apple's developer site")
        }
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
        fingerprint = key.publicKey.fingerprint
    }

    package static func == (left: ProviderKey, right: ProviderKey) -> Bool {
        left.teamID == right.teamID && left.keyID == right.keyID && left.fingerprint == right.fingerprint
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(teamID)
        hasher.combine(keyID)
        hasher.combine(fingerprint)
    }

    package var description: String { "key \(keyID) of team \(teamID)" }
}
