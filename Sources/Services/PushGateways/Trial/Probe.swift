package import PushModel

/// How a push service is asked whether it accepts the credential of an app, without a notification that a person sees.
package struct Probe: Sendable {
    /// The notification, to an address that does not exist; nil if a connection has to be enough.
    package let delivery: Delivery?
    /// Returns what an outcome shows about the app; nil if it is what it would show about any notification.
    package let judge: @Sendable (Trial.Outcome) -> Verdict?

    package init(_ delivery: Delivery?, judge: @escaping @Sendable (Trial.Outcome) -> Verdict?) {
        self.delivery = delivery
        self.judge = judge
    }
}

extension Probe {
    /// The probe that opens a connection and sends nothing.
    package static let connection = Probe(nil) { _ in nil }
}

extension Verdict {
    /// Creates the verdict for the outcome of a probe.
    package init(_ outcome: Trial.Outcome, of peer: TrialPeer, by probe: Probe) {
        if let verdict = probe.judge(outcome) {
            self = verdict
            return
        }
        self.init(outcome, of: peer)
        // Nothing was to be delivered, so the service is as good as unreachable.
        switch outcome {
        case .notConnected, .timedOut: if kind == .tryAgain { kind = .unreachable }
        case .accepted, .refused, .unknown, .expired, .stayedOpen, .dismissed, .halted: break
        }
    }
}
