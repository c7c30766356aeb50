import APNs
import PushAPI
import PushConfiguration
import PushGateways
import PushModel
import PushTime

/// A snapshot of an app and its gateway.
struct ServedStatus: Sendable {
    let app: Configuration.App
    let connections: ClosedRange<Int>
    let fault: String?
    /// The status of the gateway; nil if the app has none, because its credential was not usable yet.
    let gateway: GatewayStatus?
    /// When an operator paused the app; nil if it is not paused.
    var pausedAt: WallTime?

    private static let paused = "paused by an operator"

    /// The state, with the pause of an operator before that of the gateway.
    var state: String {
        if pausedAt == nil { return gatewayState }
        return gatewayState == "up" ? Self.paused : "\(Self.paused); \(gatewayState)"
    }

    /// `up` if a connection accepts deliveries; otherwise the obstacle.
    private var gatewayState: String {
        guard let gateway else { return "halted: \(fault ?? "there is no credential yet")" }
        switch gateway.state {
        case .running:
            if let attempt = nextAttempt { return "credential refused: \(attempt)" }
            return hasOpenConnection ? "up" : "connecting"
        case .paused(let time, let cause):
            return "breaker open for \(max(1, time.components.seconds)) s: \(cause.description)"
        case .probing: return "probing: one delivery tests whether the push service has recovered"
        case .halted(let halt): return "halted: \(halt.message)\(nextAttempt.map { "; \($0)" } ?? "")"
        case .draining: return "draining"
        case .closed: return "stopped"
        }
    }

    /// The time until the gateway tries again; nil if it is not known.
    var timeToNextAttempt: Duration? {
        if let time = gateway?.nextTrial { return time }
        return if case .paused(let time, _)? = gateway?.state { time } else { nil }
    }

    /// The reason why pushes cannot be sent now; nil if they can.
    var obstacle: String? {
        if pausedAt != nil { return Self.paused }
        guard let gateway else { return state }
        if gateway.nextTrial != nil {
            // The next push is sent as the attempt.
            if canTryNext(gateway) { return nil }
            guard !gateway.isHalted, let fault = gateway.fault, let attempt = nextAttempt else { return state }
            return "credential refused: \(fault.sentence); \(attempt)"
        }
        switch gateway.state {
        case .running: return hasOpenConnection ? nil : missingConnection(gateway)
        // The next push is sent as the probe.
        case .probing: return hasOpenConnection ? nil : state
        case .paused(_, .unreachable):
            return gateway.fault.map { "\(state): \($0.sentence)" } ?? state
        case .paused, .halted, .draining, .closed: return state
        }
    }

    /// When a credential that the push service has refused is tried again; nil if it was not refused.
    private var nextAttempt: String? {
        guard let gateway, let time = gateway.nextTrial else { return nil }
        if time > .zero { return "next attempt in \(max(1, time.components.seconds)) s" }
        return canTryNext(gateway) ? "the next delivery is the next attempt" : "an attempt is being made"
    }

    /// Whether a refused credential is tried with the next delivery, because none waits.
    private func canTryNext(_ gateway: GatewayStatus) -> Bool {
        gateway.nextTrial == .zero && gateway.queue + gateway.outstanding == 0
            && (hasOpenConnection || gateway.wanted == 0)
    }

    /// The reason why no connection is open. It is nil if one is open, or if the last one ended in order and the next
    /// one is being opened.
    var connectionFault: ConnectionFault? { hasOpenConnection ? nil : gateway?.fault }

    private func missingConnection(_ gateway: GatewayStatus) -> String? {
        let attempts = gateway.failedConnectsInARow
        let failed = attempts == 1 ? "an attempt failed" : "\(attempts) attempts in a row failed"
        if let fault = gateway.fault {
            return "no connection is open" + (attempts > 0 ? "; \(failed): " : ": ") + fault.sentence
        }
        if attempts > 0 { return "no connection is open; \(failed)" }
        // A connection that ended in order is replaced at once, which is not an obstacle.
        return gateway.hasBeenUp ? nil : "no connection is open yet"
    }

    /// Whether deliveries wait for an answer of the push service. Those in the queue of the gateway have not been sent.
    var hasSent: Bool { gateway.map { $0.outstanding > 0 } ?? false }

    private var hasOpenConnection: Bool { gateway?.connections.contains { $0.state == .open } ?? false }
}

extension GatewayAnswer {
    init(_ served: ServedStatus) {
        let gateway = served.gateway
        self.init(
            app: served.app.id.name, environment: served.app.identity("environment"), state: served.state,
            scale: Scale(gateway.map { $0.minimum...$0.maximum } ?? served.connections), queue: gateway?.queue ?? 0,
            credit: gateway?.credit ?? 0, connections: gateway?.connections.map(Connection.init) ?? [],
            fault: (served.connectionFault ?? gateway?.failing.lazy.compactMap(\.fault).first).map(Fault.init),
            pausedAt: served.pausedAt)
    }
}

extension Readiness {
    init(_ served: [ServedStatus], obstacle: String? = nil, warnings: [String] = []) {
        self.init(
            served.map { status in
                App(
                    app: status.app.id.name, obstacle: status.obstacle,
                    code: status.connectionFault?.code.rawValue)
            }, obstacle: obstacle, warnings: warnings)
    }
}

extension BreakerCause {
    var description: String {
        switch self {
        case .unreachable(let attempts): "\(attempts) attempts to connect failed in a row"
        case .failing(let answers, let all): "\(answers) of the last \(all) responses were failures of the push service"
        case .unreachableForOthers(let attempts):
            "\(attempts) \(attempts == 1 ? "attempt" : "attempts") to connect failed, and another node reports that the push "
                + "service fails"
        case .failingForOthers(let answers, let all):
            "\(answers) of \(all) responses \(answers == 1 ? "was a failure" : "were failures") of the push service, and "
                + "another node reports the same"
        case .asked: "the push service asked for a pause"
        case .probeFailed: "the probe failed"
        case .origin(let origin): origin.sentence
        }
    }
}
