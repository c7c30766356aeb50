import APNs
import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushWire

/// The check of one app: its files and, with `--connect`, the response of the push service.
struct AppCheck: Sendable {
    let app: Configuration.App
    /// The gateway of the app; nil if its credential or trust is faulty.
    let gateway: AppGateway?
    /// The fault in its files, if there is one.
    let fault: String?
    private(set) var warnings: [String]
    let now: WallTime
    /// The result of the connection attempt; nil if there was none.
    private(set) var verdict: Verdict?
    private(set) var address: String?
    private(set) var took: Duration?

    /// A certificate that expires within this many seconds causes a warning.
    private static let soon: Int64 = 30 * 86_400

    /// Reads the app's files.
    ///
    /// - Parameter warnsOfExpiry: Whether a certificate that expires soon is among the warnings.
    init(_ app: Configuration.App, timeout: Duration, now: WallTime, warnsOfExpiry: Bool = true) {
        self.app = app
        self.now = now
        do throws(Failure) {
            let gateway = try Trial.load(app, timeout: timeout)
            self.gateway = gateway
            fault = nil
            warnings = gateway.warnings
            if warnsOfExpiry, let end = gateway.credential.facts.notAfter, end.seconds - now.seconds < Self.soon {
                warnings.append(
                    "the certificate expires \(KeysShowVerb.distance(end.seconds - now.seconds)); create a new one now"
                )
            }
        } catch {
            gateway = nil
            fault = error.description
            warnings = []
        }
    }

    /// Returns the notification that `--connect` sends, or nil for the binary protocol, which does not report an
    /// outcome.
    ///
    /// The token is 32 zero bytes. It has the usual length, so the provider looks it up and does not reject it as
    /// malformed, and no device should have it. If a device had it, the notification would only wake an app: it shows
    /// nothing and is not stored.
    static func probe(_ app: Configuration.App) -> Delivery? {
        guard app.apns.wireProtocol == .http2, let id = MessageID("check") else { return nil }
        let token = Address(words: (0, 0, 0, 0))
        let message = Message(
            id: id, app: app.id, type: MessageType(.background), expiry: .singleAttempt,
            payload: Payload(aps: .background).encoded())
        return Delivery(
            ticket: 1, message: message, token: token, deliveryID: .derived(app: app.id, message: id, token: token))
    }

    mutating func conclude(_ report: Trial.Report) {
        address = report.address
        took = report.took
        verdict = Self.verdict(report.outcome, of: app)
    }

    static func verdict(_ outcome: Trial.Outcome, of app: Configuration.App) -> Verdict {
        switch outcome {
        case .refused(let refusal)
        where ReasonTable.apns.concern(of: refusal) == .device && [400, 410].contains(refusal.status):
            // Apple looks at the credential first. Another service may look at the token first.
            let isApple = PushEnvironment.isHostOfApple(app.endpoint.host)
            var verdict = Verdict(
                .accepted,
                isApple
                    ? "credential, topic and environment are accepted; only the made-up device token was rejected"
                    : "the made-up device token was rejected, and at Apple that means that credential, topic and "
                        + "environment are accepted; a service that looks at the token first has not shown it"
            )
            verdict.refusal = refusal
            return verdict
        case .accepted:
            var verdict = Verdict(
                .accepted,
                "credential and topic are accepted; the made-up device token was accepted as well, which only a "
                    + "simulator does"
            )
            verdict.isAnswered = true
            return verdict
        case .stayedOpen:
            return Verdict(
                .accepted,
                "TLS handshake with the certificate succeeded and the connection stayed open; the binary protocol "
                    + "cannot verify topic and environment")
        case .notConnected, .timedOut:
            var verdict = Verdict(outcome, of: app)
            if verdict.kind == .tryAgain { verdict.kind = .unreachable }
            return verdict
        case .refused, .unknown, .expired, .dismissed, .halted:
            return Verdict(outcome, of: app)
        }
    }

    var code: ExitCode {
        if fault != nil { return .configuration }
        return verdict?.kind.code ?? .done
    }
}
