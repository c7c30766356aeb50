package import PushGateways
import PushLogic
import PushLoop
package import PushModel
package import PushTime
package import PushTransport

/// The credential of an app at APNs, read and checked.
package struct LoadedAPNs: ServiceConnector {
    private let settings: APNsSettings
    package let credential: Credential
    package let warnings: [String]

    /// Reads and checks the files. It blocks, so do not call it on an event loop.
    package init(_ settings: APNsSettings, at now: WallTime = .current()) throws(CredentialError) {
        self.settings = settings
        let loaded = try settings.credential.load(at: now)
        credential = loaded.credential
        warnings = loaded.warnings
        try credential.check(topic: settings.topic.text, environment: settings.environment)
    }

    package var facts: CredentialSummary { CredentialSummary(credential.facts) }

    package var identity: TLSIdentity? {
        if case .certificate(let certificate) = credential { certificate.identity } else { nil }
    }

    package var alpn: [String] { settings.wireProtocol == .http2 ? ["h2"] : [] }

    package func connect(_ connections: ConnectionSettings) -> GatewaySettings.Connect {
        switch settings.wireProtocol {
        case .http2:
            let http2 = connections.http2 { [topic = settings.topic.text] token in
                APNsWriter(authority: connections.authority, topic: topic, token: token)
            }
            return { GatewayConnection($0, settings: http2) }
        case .binary:
            var legacy = LegacyConnection.Settings(
                tls: connections.tls, serverName: connections.endpoint.host, resolver: connections.resolver,
                wallClock: connections.wallClock)
            legacy.connectTimeout = connections.connectTimeout
            legacy.stallAfter = connections.answerTimeout
            legacy.permit = connections.permit
            return { [legacy] in
                LegacyConnection(id: $0.id, on: $0.loop, to: $0.address, settings: legacy, outlet: $0.outlet)
            }
        }
    }

    /// Returns the source of provider tokens, or nil if the credential is a certificate.
    package func tokens(from tokens: ProviderTokens) -> TokenSource? {
        guard case .providerKey(let key) = credential else { return nil }
        return TokenSource(
            subscribe: { loop, take in
                let subscription = tokens.subscribe(key, on: loop) { take($0.mapError { $0 }) }
                return { tokens.cancel(subscription) }
            },
            refused: { tokens.refused(key, generation: $0) }, mintedTooOften: { tokens.mintedTooOften(key) })
    }

    package func preview(
        of message: Message, deliveryID: DeliveryID, to endpoint: String, tokenSize size: String
    ) -> RequestPreview {
        settings.preview(of: message, deliveryID: deliveryID, to: endpoint, tokenSize: size, with: credential)
    }

    package func preview(ofBroadcast message: Message, to channel: ChannelID) -> RequestPreview {
        settings.preview(ofBroadcast: message, to: channel, with: credential)
    }
}

extension CredentialSummary {
    fileprivate init(_ facts: CredentialFacts) {
        self.init(facts.kind == .providerKey ? .providerKey : .certificate, fingerprint: facts.fingerprint)
        (keyID, teamID, subject, issuer) = (facts.keyID, facts.teamID, facts.subject, facts.issuer)
        topics = facts.topics.map { $0.map(\.name) }
        (notBefore, notAfter) = (facts.notBefore, facts.notAfter)
    }
}

extension CredentialFiles {
    package var source: CredentialSetting {
        switch self {
        case .key(let path, let keyID, let teamID):
            CredentialSetting(.providerKey, file: path, keyID: keyID, teamID: teamID)
        case .pkcs12(let certificate, _), .pem(let certificate, _, _):
            CredentialSetting(.certificate, file: certificate)
        }
    }
}
