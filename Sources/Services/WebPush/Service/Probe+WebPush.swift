package import PushGateways

extension Probe {
    /// Push services answer only to a subscription, and there is none that nobody sees. Which of them the app has
    /// subscriptions at, only its registry knows. So nothing is asked.
    ///
    /// - Parameter hasEndpoint: Whether a connection to the endpoint of the app is tried. There is none without it.
    package static func webPush(hasEndpoint: Bool) -> Probe {
        let known = "the VAPID key can be used; push services answer only to a subscription, so nothing was sent"
        return Probe(nil) { outcome in
            switch outcome {
            case .stayedOpen:
                Verdict(.accepted, hasEndpoint ? "\(known); the endpoint completes TLS" : "\(known) and none was asked")
            case .notConnected(let end, _) where end.fault.code == .noCommonProtocol:
                Verdict(.accepted, "\(known); the endpoint offers no HTTP/2, so HTTP/1.1 will be used")
            default: nil
            }
        }
    }
}
