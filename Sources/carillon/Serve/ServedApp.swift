import PushGateways
import PushModel

/// One app as it is served.
struct ServedApp {
    /// In force, but for what a credential that cannot be used keeps from it.
    var app: Configuration.App
    /// What connections are made of; nil until its files could be used once.
    var loaded: LoadedApp?
    var gateway: Gateway?
    /// Why its newest files cannot be used.
    var fault: String?
    /// How many connections there may be: by the configuration, or by an operator since.
    var connections: ClosedRange<Int>
    let journal: GatewayJournal
    /// Asks the feedback service, where there is one.
    var poller: FeedbackPoller?
}

/// One app as it was a moment ago.
struct ServedStatus: Sendable {
    let app: Configuration.App
    let connections: ClosedRange<Int>
    let fault: String?
    /// Nil if it has no gateway: its credential could not be used yet.
    let gateway: GatewayStatus?

    /// `up` if a connection takes deliveries; else what keeps it.
    var state: String {
        guard let gateway else { return "halted: \(fault ?? "there is no credential yet")" }
        switch gateway.state {
        case .running: return hasOpenConnection ? "up" : "connecting"
        case .paused(let time, let cause): return "paused for \(max(1, time.components.seconds)) s: \(cause.words)"
        case .probing: return "probing: one delivery finds out whether the push service has recovered"
        case .halted(let halt): return "halted: \(halt.message)"
        case .draining: return "draining"
        case .closed: return "stopped"
        }
    }

    /// Why a push would not go out now; nil if it would.
    var obstacle: String? {
        guard let gateway else { return state }
        switch gateway.state {
        case .running: return hasOpenConnection ? nil : missingConnection(gateway)
        // A push that comes now is the one that tries.
        case .probing: return hasOpenConnection ? nil : state
        case .paused(_, .unreachable):
            return gateway.fault.map { "\(state): \($0.sentence)" } ?? state
        case .paused, .halted, .draining, .closed: return state
        }
    }

    /// Why no connection is open; nil where one is, or where the last ended as it should and the next is on its way.
    var connectionFault: ConnectionFault? { hasOpenConnection ? nil : gateway?.fault }

    private func missingConnection(_ gateway: GatewayStatus) -> String? {
        let attempts = gateway.failedConnectsInARow
        let failed = attempts == 1 ? "an attempt failed" : "\(attempts) attempts in a row failed"
        if let fault = gateway.fault {
            return "no connection is open" + (attempts > 0 ? "; \(failed): " : ": ") + fault.sentence
        }
        if attempts > 0 { return "no connection is open; \(failed)" }
        // A connection that has ended in order, for which another is on its way, keeps nothing for long.
        return gateway.hasBeenUp ? nil : "no connection is open yet"
    }

    private var hasOpenConnection: Bool { gateway?.connections.contains { $0.state == .open } ?? false }
}

extension GatewayAnswer {
    init(_ served: ServedStatus) {
        let gateway = served.gateway
        self.init(
            app: served.app.id.name, environment: served.app.environment.rawValue, state: served.state,
            scale: Scale(gateway.map { $0.minimum...$0.maximum } ?? served.connections), queue: gateway?.queue ?? 0,
            credit: gateway?.credit ?? 0, connections: gateway?.connections.map(Connection.init) ?? [],
            fault: served.connectionFault.map(Fault.init))
    }
}

extension BreakerCause {
    var words: String {
        switch self {
        case .unreachable(let attempts): "\(attempts) attempts to connect failed in a row"
        case .failing(let answers, let all): "\(answers) of the last \(all) answers said that the service could not"
        case .asked: "the push service asked for it"
        case .probeFailed: "it has not recovered"
        }
    }
}
