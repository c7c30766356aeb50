package import PushGateways
import PushLoop
package import PushModel
import PushTime
package import PushTransport

/// The credential of an app at FCM, read and checked.
package struct LoadedFCM: ServiceConnector {
    package let account: ServiceAccount
    /// The context for the requests of tokens, without ALPN protocols.
    private let tokenTLS: TLSContext
    package let warnings: [String]

    /// Reads and checks the file. It blocks, so do not call it on an event loop.
    ///
    /// - Parameter tls: Returns the context for a host that issues tokens.
    package init(_ settings: FCMSettings, tls: (_ tokenHost: String) throws -> TLSContext) throws {
        account = try ServiceAccount(file: settings.serviceAccount)
        tokenTLS = try tls(account.tokenAddress.endpoint.host)
        warnings = SecretFile.cautions([settings.serviceAccount])
    }

    package var facts: CredentialSummary {
        var facts = CredentialSummary(.serviceAccount, fingerprint: account.fingerprint.hex)
        facts.keyID = account.keyID
        facts.subject = account.email
        return facts
    }

    package var identity: TLSIdentity? { nil }

    package var alpn: [String] { ["h2"] }

    package func connect(_ settings: ConnectionSettings) -> GatewaySettings.Connect {
        let http2 = settings.http2 { [project = account.project] token in
            FCMWriter(
                authority: settings.authority, project: project, token: token, wallClock: settings.wallClock)
        }
        return { GatewayConnection($0, settings: http2) }
    }

    /// Returns the source of access tokens.
    package func tokens(from tokens: AccessTokens) -> TokenSource {
        TokenSource(
            subscribe: { [account, tokenTLS] loop, take in
                let subscription = tokens.subscribe(account, tls: tokenTLS, on: loop) { take($0.mapError { $0 }) }
                return { tokens.cancel(subscription) }
            },
            refused: { [account] in tokens.refused(account, generation: $0) },
            // FCM does not limit how often tokens are asked for.
            mintedTooOften: {})
    }

    package func preview(
        of message: Message, deliveryID: DeliveryID, to endpoint: String, tokenSize size: String
    ) -> RequestPreview {
        RequestPreview(
            "POST https://\(endpoint)\(FCMWriter.path(of: account.project))",
            fields: [
                ("authorization", "Bearer <redacted: an access token of \(account.email)>"),
                ("content-type", "application/json"), ("(address)", size),
            ], payload: PreparedBody.payload(of: message, at: WallTime.current().seconds))
    }
}
