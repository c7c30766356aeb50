package import PushGateways

extension Probe {
    /// Push services answer only to a subscription, and there is none that nobody sees. Which of them the app has
    /// subscriptions at, only its registry knows. So nothing is asked, and no connection is tried.
    package static let webPush = Probe(nil) { outcome in
        guard case .stayedOpen = outcome else { return nil }
        return Verdict(
            .accepted,
            "the VAPID key can be used; push services answer only to a subscription, so nothing was sent and none was asked"
        )
    }
}
