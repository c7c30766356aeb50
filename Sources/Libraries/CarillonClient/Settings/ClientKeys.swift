import PushTransport

/// The keys for an encrypted connection (CURVE): the pair of this client, and the public key of Carillon.
///
/// `carillon keys curve FILE` makes a pair. The public key of the client belongs into `security.clients` of the
/// configuration of Carillon. Descriptions, mirrors and dumps do not show the secret key.
public struct ClientKeys: Sendable, CustomStringConvertible {
    let pair: CurveKeyPair
    let server: PushTransport.CurvePublicKey

    /// Creates the keys from texts of 40 characters (Z85).
    ///
    /// - Throws: ``ClientError/invalidKey(_:)`` if a text is not a key. The error does not repeat the text.
    public init(secret: String, server: String) throws(ClientError) {
        do throws(ZMQError) {
            self.server = try CurvePublicKey(z85: server)
            pair = try CurveKeyPair(secretKey: CurveSecretKey(z85: secret))
        } catch {
            throw .invalidKey(error.message)
        }
    }

    /// The public key of this client, as text of 40 characters.
    public var publicKey: String { pair.publicKey.z85 }

    /// The public keys of both sides.
    public var description: String { "client \(publicKey), server \(server.z85)" }

    var security: ZMQSecurity { .curveClient(keys: pair, serverKey: server) }
}
