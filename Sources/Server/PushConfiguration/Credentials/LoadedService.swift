package import APNs
package import FCM
package import PushGateways
package import PushLoop
import PushModel
package import PushTransport
package import WebPush

/// The credential of an app, as its push service has read and checked it. A further service has a case.
package enum LoadedService: Sendable {
    case apns(LoadedAPNs)
    case fcm(LoadedFCM)
    case webPush(LoadedWebPush)

    /// Reads and checks the files of an app. It blocks, so do not call it on an event loop.
    init(_ app: Configuration.App, contexts: TLSContexts) throws {
        switch app.service {
        case .apns(let settings): self = .apns(try LoadedAPNs(settings))
        case .fcm(let settings):
            self = .fcm(
                try LoadedFCM(settings) { host in
                    // Google's tokens come from Google, also if messages go to another host.
                    try FCMSettings.isHostOfGoogle(host)
                        ? contexts.client(.system, alpn: []) : contexts.client(at: app.endpoint, alpn: [])
                })
        case .webPush(let settings):
            self = .webPush(
                try LoadedWebPush(
                    settings, tls: { try contexts.client(.system, alpn: $0) },
                    endpointTLS: { try contexts.client(at: app.endpoint, alpn: $0) }))
        }
    }

    package var connector: any ServiceConnector {
        switch self {
        case .apns(let loaded): loaded
        case .fcm(let loaded): loaded
        case .webPush(let loaded): loaded
        }
    }

    /// Returns the source of the tokens that requests carry; nil if they need none.
    func tokens(from tokens: ServiceTokens) -> TokenSource? {
        switch self {
        case .apns(let loaded): loaded.tokens(from: tokens.apns)
        case .fcm(let loaded): loaded.tokens(from: tokens.fcm)
        // Tokens belong to an origin, and connections sign them themselves.
        case .webPush: nil
        }
    }
}

/// The tokens of all credentials, one instance for a process: apps that share a credential share its token.
package struct ServiceTokens: Sendable {
    package let apns: ProviderTokens
    package let fcm: AccessTokens

    package init(on loop: EventLoop, resolver: NameResolver, wallClock: @escaping @Sendable () -> WallTime) {
        apns = ProviderTokens(on: loop, wallClock: wallClock)
        fcm = AccessTokens(on: loop, resolver: resolver, wallClock: wallClock)
    }
}
