import PushLoop
import PushTransport
import TestSupport

@testable import PushSimulator

/// The keys, teams and certificates that the simulated Apple push service of these tests knows, created once per
/// process.
struct Credentials: Sendable {
    static let shared = Credentials()

    static let keyID = "ABC123DEFG"
    static let teamID = "DEF123GHIJ"
    static let otherKeyID = "OTHERTEAM0"
    static let otherTeamID = "TEAM000002"
    static let topic = "com.example.shop"

    let key: ES256PrivateKey
    let otherKey: ES256PrivateKey
    /// The push certificate for `topic`.
    let push: TLSIdentity
    let expiredServer: TLSIdentity

    private init() {
        do {
            key = try .generate()
            otherKey = try .generate()
            let authority = TestCertificates.shared.authority
            push = try authority.issue(
                CertificateRequest(
                    commonName: "Apple Push Services: \(Self.topic)", usage: .client, userID: Self.topic)
            ).identity
            let now = WallTime.current().milliseconds
            expiredServer = try authority.issue(
                CertificateRequest(
                    commonName: "localhost", usage: .server, dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"],
                    validity: CertificateValidity(
                        notBefore: WallTime(milliseconds: now - 60 * 86_400_000),
                        notAfter: WallTime(milliseconds: now - 86_400_000)))
            ).identity
        } catch {
            fatalError("credentials: \(error)")
        }
    }

    var providerKeys: [ProviderKey] {
        [
            ProviderKey(keyID: Self.keyID, teamID: Self.teamID),
            ProviderKey(keyID: Self.otherKeyID, teamID: Self.otherTeamID),
        ]
    }

    var publicKeys: [String: ES256PublicKey] {
        [Self.keyID: key.publicKey, Self.otherKeyID: otherKey.publicKey]
    }

    /// Returns a signed provider token in the form that Apple requires (RFC 7515).
    func token(
        signedBy signer: ES256PrivateKey? = nil, keyID: String = keyID, teamID: String = teamID, age: Int64 = 0
    ) throws -> String {
        let issuedAt = WallTime.current().seconds - age
        let header = Base64URL.encode(#"{"alg":"ES256","kid":"\#(keyID)"}"#)
        let claims = Base64URL.encode(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#)
        let signature = try (signer ?? key).sign(Array("\(header).\(claims)".utf8))
        return "\(header).\(claims).\(Base64URL.encode(signature))"
    }
}
