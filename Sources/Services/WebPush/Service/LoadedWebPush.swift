package import PushGateways
import PushLoop
package import PushModel
import PushThread
package import PushTransport

/// The credential of an app at Web Push, read and checked.
package struct LoadedWebPush: ServiceConnector {
    package let key: VAPIDKey
    package let warnings: [String]
    private let subject: String
    private let rules: OriginRules
    /// The context for all origins but the endpoint of the settings, whose certificates that of the app judges.
    private let publicTLS: TLSContext

    /// Reads and checks the file. It blocks, so do not call it on an event loop.
    ///
    /// - Parameter tls: Returns the context for the push services of browsers, whose certificates are those of public
    ///   authorities.
    package init(_ settings: WebPushSettings, tls: () throws -> TLSContext) throws {
        key = try VAPIDKey(file: settings.vapid)
        subject = settings.subject
        rules = settings.origins
        publicTLS = try tls()
        warnings = SecretFile.cautions([settings.vapid])
    }

    package var facts: CredentialSummary {
        var facts = CredentialSummary(.vapid, fingerprint: key.fingerprint.hex)
        facts.subject = subject
        return facts
    }

    /// Looks up the hosts of endpoints. These come from browsers, and a name whose servers do not answer would hold up
    /// the look-ups of other apps.
    private static let names = BlockingPool(name: "origins", threadCount: 4, queueLimit: 256)

    package var identity: TLSIdentity? { nil }

    package var alpn: [String] { ["h2"] }

    package func connect(_ settings: ConnectionSettings) -> GatewaySettings.Connect {
        // All connections of the app share the tokens, so that an origin sees one.
        let tokens = VAPIDTokens(key: key, subject: subject)
        let pool = OriginPool.Settings(
            tls: publicTLS, endpointTLS: settings.tls, resolver: NameResolver(pool: Self.names), rules: rules,
            connection: settings, writer: { origin in WebPushWriter(origin: origin, tokens: tokens) })
        return { OriginPool($0, settings: pool) }
    }

    /// The connections look up the names of their origins themselves.
    package var lookUp: GatewaySettings.LookUp? { OriginPool.lookUp }

    package func preview(
        of message: Message, deliveryID: DeliveryID, to endpoint: String, tokenSize size: String
    ) -> RequestPreview {
        let urgency =
            switch message.priority {
            case .ten: "high"
            case .five: "normal"
            case .one: "low"
            }
        let length = message.payload.count + Padding.length(for: message.payload.count) + MessageEncryptor.overhead
        return RequestPreview(
            "POST <redacted: the endpoint of the subscription>",
            fields: [
                ("authorization", "vapid t=<redacted: a token of \(subject)>, k=\(key.publicKey)"),
                ("ttl", "the seconds until expires_at, at most \(TimeToLive.max)"), ("urgency", urgency),
                ("topic", "a digest of the \(message.collapseID == nil ? "message" : "collapse") id"),
                ("content-encoding", "aes128gcm"), ("content-type", "application/octet-stream"),
                ("content-length", "\(length), encrypted"), ("(address)", size),
            ])
    }
}
