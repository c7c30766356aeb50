import PushLogic
package import PushLoop
package import PushModel
import PushTransport

/// Sends one notification through its own gateway over one connection, as a running Carillon would. It ends with the
/// first response, or with the first reason why there is none.
package struct Trial: Sendable {
    package enum Outcome: Sendable {
        case accepted(providerID: String?)
        /// The provider rejected the notification, whatever the disposition.
        case refused(Refusal)
        /// The request was written, but there was no response.
        case unknown(UnknownCause)
        /// The notification expired before it was sent.
        case expired
        /// A trial without a notification: a connection opened and stayed open.
        case stayedOpen
        /// None of the addresses that were tried gave a connection. `inTime` is false if the last one timed out.
        case notConnected(ConnectionEnd, inTime: Bool)
        /// The provider returned the notification unprocessed each time, with the reason of a GOAWAY if there was one.
        case dismissed(ProviderReason?)
        /// The gateway cannot send with this credential.
        case halted(GatewayHalt)
        /// The notification could not be sent within the timeout.
        case timedOut(after: Duration)
    }

    package struct Report: Sendable {
        package var outcome: Outcome
        /// The `address:port` of the last connection, or of the last attempt.
        package var address: String?
        package var took: Duration
        /// The time between request and response.
        package var latency: Duration?
        /// Problems that occurred before the outcome.
        package var notes: [String]
    }

    fileprivate let settings: GatewaySettings
    fileprivate let tokens: TokenSource?
    fileprivate let delivery: Delivery?
    fileprivate let timeout: Duration
    fileprivate let connectTimeout: Duration
    fileprivate let stay: Duration

    /// The maximum number of addresses to try.
    fileprivate static let maxAttempts = 3

    /// - Parameters:
    ///   - settings: The settings of a gateway with one connection.
    ///   - delivery: The notification; if nil, nothing is sent, and a connection has to open and stay open for `stay`.
    ///   - connectTimeout: The time after which a connection that does not open has timed out.
    package init(
        _ settings: GatewaySettings, tokens: TokenSource?, delivery: Delivery?, timeout: Duration,
        connectTimeout: Duration, stay: Duration = .seconds(1)
    ) {
        self.settings = settings
        self.tokens = tokens
        self.delivery = delivery
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.stay = stay
    }

    package func run(on loop: EventLoop) async -> Report {
        let (report, gateway) = await withCheckedContinuation { continuation in
            loop.execute { TrialRun(self, on: loop) { continuation.resume(returning: ($0, $1)) }.begin() }
        }
        await gateway.drain(within: .milliseconds(200))
        return report
    }

    /// Returns what responses mean for a trial. It reports the first response, so it neither waits to retry nor creates a
    /// second token.
    package static func reasons(_ reasons: ReasonTable) -> ReasonTable {
        reasons.changing { status, _, usual in
            switch usual {
            case .halt, .renewToken, .renewTokenOnce:
                // The gateway classifies the reason of a GOAWAY with status 503. It belongs to no notification, so only
                // `halt` reports it.
                return status == 503 ? .halt : .drop
            case .drop, .deactivate, .retry, .reconnect, .slowMinting: return usual
            }
        }
    }
}

/// The run of a trial: handles the reports of the gateway until the outcome is certain. Used on the loop only.
private final class TrialRun {
    private let trial: Trial
    private let loop: EventLoop
    private var done: ((Trial.Report, Gateway) -> Void)?
    private var gateway: Gateway?
    private var timers: [TimerID] = []
    private var begunAt: MonotonicTime
    private var address: String?
    /// The connections that opened.
    private var cameUp: Set<ConnectionID> = []
    private var failed: Set<String> = []
    private var lostCount = 0
    /// The number of addresses that the last lookup returned.
    private let known = Locked(1)
    private var lastEnd: ConnectionEnd?
    private var goAway: ProviderReason?
    private var wasDismissed = false
    private var notes: [String] = []

    init(_ trial: Trial, on loop: EventLoop, done: @escaping (Trial.Report, Gateway) -> Void) {
        self.trial = trial
        self.loop = loop
        self.done = done
        begunAt = loop.now
    }

    func begin() {
        let box = LoopBound(self, on: loop)
        var settings = trial.settings
        settings.policy.reconnect = Backoff(first: .milliseconds(200), maxDelay: .seconds(1))
        settings.policy.requeueLimit = Trial.maxAttempts - 1
        settings.reasons = Trial.reasons(settings.reasons)
        settings.lookUp = { [known, lookUp = settings.lookUp] endpoint, completion in
            lookUp(endpoint) { result in
                if case .success(let found) = result { known.withLock { $0 = found.count } }
                completion(result)
            }
        }
        let gateway = Gateway(
            on: loop, connectionLoops: [loop], settings: settings,
            client: GatewayClient(on: loop) { box.wrapped.take($0) },
            tokens: trial.tokens)
        self.gateway = gateway
        timers.append(loop.schedule(after: trial.timeout) { [self] in timeIsUp() })
        if let delivery = trial.delivery { gateway.submit([delivery]) }
    }

    private func take(_ report: GatewayReport) {
        guard done != nil else { return }
        for one in report.deliveries {
            switch one.outcome {
            case .sent(let providerID): finish(.accepted(providerID: providerID?.text), latency: one.latency)
            case .rejected(let refusal, _), .retry(let refusal, _):
                // A status of 0 means that there was no response: the notification was returned too often, or the gateway
                // of the service itself has refused it for a reason of its own.
                let isReturned = refusal.status == 0 && trial.settings.reasons.known(refusal.reason) == nil
                // An event says more about it.
                if refusal.status == 0 { for event in report.events { happened(event) } }
                finish(isReturned ? .dismissed(goAway) : .refused(refusal), latency: one.latency)
            case .unknown(let cause, _): finish(.unknown(cause))
            case .expired: finish(.expired)
            case .suppressed, .superseded, .expiredBecause, nil: break
            }
        }
        for event in report.events { happened(event) }
    }

    private func happened(_ event: GatewayEvent) {
        guard done != nil else { return }
        switch event {
        case .up(let id, let address, _):
            cameUp.insert(id)
            self.address = hostPort(of: address)
            if trial.delivery == nil {
                timers.append(loop.schedule(after: trial.stay) { [self] in finish(.stayedOpen) })
            }
        case .down(let id, let address, let end, let age, _):
            wentDown(id, at: address, because: end, after: age)
        case .goAway(_, _, let reason):
            goAway = reason
            wasDismissed = true
            notes.append("the provider closed a connection with GOAWAY" + (reason.map { " (\($0))" } ?? ""))
        case .breakerOpened:
            if let lastEnd { finish(.notConnected(lastEnd, inTime: true)) }
        case .credentialFailed(let halt):
            finish(.halted(halt))
        case .scaled, .breakerClosed, .credentialRefused, .tokenFailed, .credentialRotated, .credentialAccepted:
            break
        }
    }

    private func wentDown(_ id: ConnectionID, at address: String?, because end: ConnectionEnd, after age: Duration) {
        if let found = address.flatMap(hostPort) { self.address = found }
        // A credential fault is reported by the halt that follows, and a GOAWAY already has a note.
        if end.kind == .credential { return }
        lastEnd = end
        if end.kind != .byUs, end.kind != .goAway { notes.append(end.message) }
        if cameUp.contains(id) {
            lostCount += 1
            if trial.delivery == nil { return finish(.notConnected(end, inTime: true)) }
            if lostCount >= Trial.maxAttempts {
                finish(wasDismissed ? .dismissed(goAway) : .notConnected(end, inTime: true))
            }
            return
        }
        failed.insert(address ?? "")
        guard address == nil || failed.count >= min(Trial.maxAttempts, known.withLock { $0 }) else { return }
        finish(.notConnected(end, inTime: age < trial.connectTimeout))
    }

    /// Returns nil for a connection to many hosts, which has no address.
    private func hostPort(of address: String) -> String? {
        IPAddress(address).map { _ in HostPort(host: address, port: trial.settings.endpoint.port).description }
    }

    private func timeIsUp() {
        guard let gateway, done != nil else { return }
        let box = LoopBound(self, on: loop)
        Task {
            let status = await gateway.status()
            let wasSent = status.connections.contains { $0.inFlight > 0 }
            await box.with { run in
                if wasSent { return run.finish(.unknown(.timeout)) }
                run.finish(run.wasDismissed ? .dismissed(run.goAway) : .timedOut(after: run.trial.timeout))
            }
        }
    }

    private func finish(_ outcome: Trial.Outcome, latency: Duration? = nil) {
        guard let done = done.take(), let gateway = gateway.take() else { return }
        for timer in timers { loop.cancel(timer) }
        timers = []
        if case .notConnected(let end, _) = outcome, notes.last == end.message { notes.removeLast() }
        done(
            Trial.Report(
                outcome: outcome, address: address, took: loop.now - begunAt, latency: latency,
                notes: notes),
            gateway)
    }
}
