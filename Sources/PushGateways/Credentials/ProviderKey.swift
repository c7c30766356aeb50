package import PushTransport
import PushWire

/// A key for signing provider tokens, with the names that Apple knows it by. It never prints the key.
///
/// Equal if the team, the key id and the key itself are: a reload of the same files gives the same key, and one token.
package struct ProviderKey: Hashable, Sendable, CustomStringConvertible {
    package let teamID: String
    package let keyID: String
    package let key: ES256PrivateKey
    /// SHA-256 over the public key in DER.
    package let fingerprint: Digest256

    /// Throws `badKeyID` or `badTeamID`.
    package init(teamID: String, keyID: String, key: ES256PrivateKey) throws(CredentialError) {
        guard ProviderTokenText.isIdentifier(keyID) else {
            throw CredentialError(
                .badKeyID,
                "\"\(shown(keyID, limit: 20))\" is not a key id: those have 10 characters of A–Z and 0–9; it is in the "
                    + "name of the file, AuthKey_KEYID.p8, and beside the key on Apple's developer site")
        }
        guard ProviderTokenText.isIdentifier(teamID) else {
            throw CredentialError(
                .badTeamID,
                "\"\(shown(teamID, limit: 20))\" is not a team id: those have 10 characters of A–Z and 0–9; it is on "
                    + "the membership page of Apple's developer site")
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
