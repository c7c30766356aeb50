import PushGateways
import PushLoop
import PushModel
import PushWire

/// What there is to say of one app before traffic moves.
struct AppCheck: Sendable {
    let app: Configuration.App
    /// Nil if its credential or trust is faulty.
    let gateway: AppGateway?
    /// What is wrong with its files.
    let fault: String?
    private(set) var warnings: [String]
    let now: WallTime
    /// What the push service said; nil if it was not asked.
    private(set) var verdict: Verdict?
    private(set) var address: String?
    private(set) var took: Duration?

    /// A certificate that ends sooner is warned of.
    private static let soon: Int64 = 30 * 86_400

    /// Reads the app's files.
    init(_ app: Configuration.App, timeout: Duration, now: WallTime) {
        self.app = app
        self.now = now
        do throws(Failure) {
            let gateway = try Trial.load(app, timeout: timeout)
            self.gateway = gateway
            fault = nil
            warnings = gateway.warnings
            if let end = gateway.credential.facts.notAfter, end.seconds - now.seconds < Self.soon {
                warnings.append(
                    "the certificate expires \(KeysShowVerb.distance(end.seconds - now.seconds)); make the next one now"
                )
            }
        } catch {
            gateway = nil
            fault = error.description
            warnings = []
        }
    }

    /// What `--connect` sends; nil over the binary protocol, which would not say what became of it.
    ///
    /// The token is 32 zero bytes: of the usual length, so that it is looked up and not just malformed, and no device
    /// was ever given it. Should one have been: the notification only wakes an app, shows nothing and is not stored.
    static func probe(_ app: Configuration.App) -> Delivery? {
        guard app.gateway.wireProtocol == .http2, let id = MessageID("check") else { return nil }
        let token = DeviceToken(words: (0, 0, 0, 0))
        let message = Message(
            id: id, app: app.id, pushType: .background, expiresAt: 0, payload: Payload(aps: .background).encoded())
        return Delivery(
            ticket: 1, message: message, token: token, apnsID: .derived(app: app.id, message: id, token: token))
    }

    mutating func conclude(_ report: Trial.Report) {
        address = report.address
        took = report.took
        verdict = Self.verdict(report.outcome, of: app)
    }

    static func verdict(_ outcome: Trial.Outcome, of app: Configuration.App) -> Verdict {
        switch outcome {
        case .refused(let refusal) where refusal.concern == .device && [400, 410].contains(refusal.status):
            var verdict = Verdict(
                .accepted, "credential, topic and environment are taken: only the token that does not exist was refused"
            )
            verdict.refusal = refusal
            return verdict
        case .accepted:
            var verdict = Verdict(
                .accepted,
                "credential and topic are taken; so was a token that does not exist, as simulators do and Apple does not"
            )
            verdict.isAnswered = true
            return verdict
        case .stayedOpen:
            return Verdict(
                .accepted,
                "TLS came to pass with the certificate, and the connection stayed open; topic and environment the "
                    + "binary protocol cannot prove")
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
