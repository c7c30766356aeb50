package import PushGateways
package import PushModel

extension APNsSettings {
    /// Returns a probe of an app. The binary protocol does not report an outcome, so there a connection has to be enough.
    ///
    /// - Parameter host: The host of the app's endpoint.
    package func probe(of app: AppID, at host: String) -> Probe {
        switch wireProtocol {
        case .http2:
            Probe(Self.notification(to: app)) { Self.verdict($0, isOfApple: PushEnvironment.isHostOfApple(host)) }
        case .binary:
            Probe(nil) { outcome in
                guard case .stayedOpen = outcome else { return nil }
                return Verdict(
                    .accepted,
                    "TLS handshake with the certificate succeeded and the connection stayed open; the binary protocol "
                        + "cannot verify topic and environment")
            }
        }
    }

    /// Returns a notification to a token that no device should have.
    ///
    /// The token is 32 zero bytes. It has the usual length, so the provider looks it up and does not reject it as
    /// malformed. If a device had it, the notification would only wake an app: it shows nothing and is not stored.
    private static func notification(to app: AppID) -> Delivery? {
        guard let id = MessageID("check") else { return nil }
        let token = Address(words: (0, 0, 0, 0))
        let message = Message(
            id: id, app: app, type: MessageType(.background), expiry: .singleAttempt,
            payload: Payload(aps: .background).encoded())
        return Delivery(
            ticket: 1, message: message, token: token, deliveryID: .derived(app: app, message: id, token: token))
    }

    private static func verdict(_ outcome: Trial.Outcome, isOfApple: Bool) -> Verdict? {
        switch outcome {
        // Apple looks at the credential first. Another service may look at the token first.
        case .refused(let refusal)
        where ReasonTable.apns.concern(of: refusal) == .device && [400, 410].contains(refusal.status):
            return Verdict(
                .accepted,
                isOfApple
                    ? "credential, topic and environment are accepted; only the made-up device token was rejected"
                    : "the made-up device token was rejected, and at Apple that means that credential, topic and "
                        + "environment are accepted; a service that looks at the token first has not shown it",
                refusal: refusal)
        case .accepted:
            var verdict = Verdict(
                .accepted,
                "credential and topic are accepted; the made-up device token was accepted as well, which only a "
                    + "simulator does")
            verdict.isAnswered = true
            return verdict
        case .refused, .unknown, .expired, .stayedOpen, .notConnected, .dismissed, .halted, .timedOut: return nil
        }
    }
}
