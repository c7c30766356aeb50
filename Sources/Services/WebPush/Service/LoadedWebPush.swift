package import PushGateways
import PushLoop
package import PushModel
import PushThread
package import PushTransport

/// The credential of an app at Web Push, read and checked.
package struct LoadedWebPush: ServiceConnector {
    package let key: VAPIDKey
    /// The key before; nil without one.
    private let former: VAPIDKey?
    package let warnings: [String]
    private let subject: String
    private let rules: OriginRules
    /// The contexts for all origins but the endpoint of the settings, which has its own authorities.
    private let publicTLS: OriginTLS
    private let endpointTLS: OriginTLS

    /// Reads and checks the file. It blocks, so do not call it on an event loop.
    ///
    /// - Parameters:
    ///   - tls: Returns the context for the push services of browsers, whose certificates are those of public
    ///     authorities, with protocols of ALPN.
    ///   - endpointTLS: The same for the endpoint of the app.
    package init(
        _ settings: WebPushSettings, tls: ([String]) throws -> TLSContext, endpointTLS: ([String]) throws -> TLSContext
    ) throws {
        key = try VAPIDKey(file: settings.vapid)
        let former = try settings.formerVAPID.map { path throws(VAPIDKeyError) in try VAPIDKey(file: path) }
        self.former = former == key ? nil : former
        subject = settings.subject
        rules = settings.origins
        publicTLS = try OriginTLS(tls)
        self.endpointTLS = try OriginTLS(endpointTLS)
        warnings =
            SecretFile.cautions([settings.vapid] + (settings.formerVAPID.map { [$0] } ?? []))
            + (former == key ? ["former_vapid has the same key as vapid"] : [])
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
        let pool = pool(settings)
        return { OriginPool($0, settings: pool) }
    }

    package func probe(_ settings: ConnectionSettings) -> GatewaySettings.Connect? {
        guard let endpoint = rules.endpoint else { return nil }
        let own = pool(settings).http2(to: endpoint)
        return { GatewayConnection($0, settings: own) }
    }

    func pool(_ settings: ConnectionSettings) -> OriginPool.Settings {
        let wallClock = settings.wallClock
        // All connections of the app share the tokens, so that an origin sees one.
        let tokens = VAPIDTokens(key: key, subject: subject, wallClock: wallClock)
        let former = former.map { VAPIDTokens(key: $0, subject: subject, wallClock: wallClock) }
        return OriginPool.Settings(
            tls: publicTLS, endpointTLS: endpointTLS, resolver: NameResolver(pool: Self.names), rules: rules,
            keys: [tokens.keyID] + (former.map { [$0.keyID] } ?? []), connection: settings,
            writer: { WebPushWriter(origin: $0, tokens: tokens, former: former, wallClock: wallClock) })
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
