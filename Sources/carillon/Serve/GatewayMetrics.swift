import PushGateways
import PushLoop
import PushModel

/// The series that merely say what the gateways of all apps are like at the moment. They are read off the last statuses
/// when the page is made, and cost nothing else: there may be thousands of apps.
final class GatewayMetrics: Sendable {
    struct Row: Sendable {
        let status: ServedStatus
        let credential: AppMetrics.Credential
    }

    private let rows = Locked<[Row]>([])

    init(in registry: MetricsRegistry) {
        perState(registry)
        let numbers: [(String, String, @Sendable (GatewayStatus) -> Int)] = [
            (
                "carillon_in_flight", "Deliveries on the wire, unanswered.",
                { $0.connections.reduce(0) { $0 + $1.inFlight } }
            ),
            ("carillon_outstanding", "Deliveries that connections have.", { $0.outstanding }),
            ("carillon_queue", "Deliveries that wait in the gateway.", { $0.queue }),
            ("carillon_credit", "How many more deliveries the gateway asks for.", { $0.credit }),
            ("carillon_connections_wanted", "How many connections the gateway wants at the moment.", { $0.wanted }),
            (
                "carillon_connect_failures_in_a_row", "Attempts to connect that failed since one came up.",
                { $0.failedConnectsInARow }
            ),
            (
                "carillon_breaker_open", "1 while the push service is let alone, or tried with one delivery.",
                { $0.isLetAlone ? 1 : 0 }
            ),
        ]
        for (name, help, read) in numbers {
            gauges(registry, name, help) { Double($0.status.gateway.map(read) ?? 0) }
        }
        gauges(registry, "carillon_credential_expiry_seconds", "Until the credential expires; negative when it has.") {
            $0.credential.notAfter.map { Double($0.milliseconds - WallTime.current().milliseconds) / 1000 }
        }
        gauges(
            registry, "carillon_provider_token_age_seconds", "Since the provider token in use was minted."
        ) { row in
            guard row.credential.usesTokens else { return nil }
            return row.credential.tokenMintedAt.map { (MonotonicTime.current() - $0).inSeconds } ?? .nan
        }
        registry.computedCounters("carillon_connects_total", help: "Connections that were begun.", labels: ["app"]) {
            [rows] in
            rows.withLock { $0 }.map {
                MetricValue([$0.status.app.id.name], Double($0.status.gateway?.counts.connects ?? 0))
            }
        }
    }

    func update(_ rows: [Row]) {
        self.rows.withLock { $0 = rows }
    }

    private func perState(_ registry: MetricsRegistry) {
        registry.computedGauges("carillon_connections", help: "Connections by state.", labels: ["app", "status"]) {
            [rows] in
            rows.withLock { $0 }.flatMap { row in
                ["connecting", "open", "draining"].map { state in
                    let count = row.status.gateway?.connections.count { $0.state.rawValue == state } ?? 0
                    return MetricValue([row.status.app.id.name, state], Double(count))
                }
            }
        }
        registry.computedGauges(
            "carillon_gateway_state", help: "1 for the state that the gateway is in.", labels: ["app", "status"]
        ) { [rows] in
            rows.withLock { $0 }.flatMap { row in
                ["running", "paused", "probing", "halted", "draining", "closed"].map { state in
                    MetricValue([row.status.app.id.name, state], row.status.stateLabel == state ? 1 : 0)
                }
            }
        }
    }

    /// One of each app for which there is a value.
    private func gauges(
        _ registry: MetricsRegistry, _ name: String, _ help: String, _ value: @escaping @Sendable (Row) -> Double?
    ) {
        registry.computedGauges(name, help: help, labels: ["app"]) { [rows] in
            rows.withLock { $0 }.compactMap { row in value(row).map { MetricValue([row.status.app.id.name], $0) } }
        }
    }
}

extension ServedStatus {
    fileprivate var stateLabel: String {
        switch gateway?.state {
        case .running: "running"
        case .paused: "paused"
        case .probing: "probing"
        case .halted, nil: "halted"
        case .draining: "draining"
        case .closed: "closed"
        }
    }
}

extension GatewayStatus {
    fileprivate var isLetAlone: Bool {
        switch state {
        case .paused, .probing: true
        case .running, .halted, .draining, .closed: false
        }
    }
}
