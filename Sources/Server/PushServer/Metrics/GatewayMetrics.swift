import PushGateways
import PushLoop
import PushModel

/// The metrics that show the current state of all gateways.
///
/// They are computed from the last statuses when the metrics page is rendered. They cost nothing at other times, which
/// matters with thousands of apps.
final class GatewayMetrics: Sendable {
    struct Row: Sendable {
        let status: ServedStatus
        let credential: AppMetrics.Credential
    }

    private let rows = Locked<[Row]>([])

    /// - Parameter serverEnd: Returns the end of the certificate of the HTTP port.
    init(in registry: MetricsRegistry, serverEnd: @escaping @Sendable () -> WallTime?) {
        perState(registry)
        expiries(registry, serverEnd: serverEnd)
        let numbers: [(String, String, @Sendable (GatewayStatus) -> Int)] = [
            (
                "carillon_in_flight", "Deliveries that were sent and are not answered.",
                { $0.connections.reduce(0) { $0 + $1.inFlight } }
            ),
            ("carillon_outstanding", "Deliveries that are assigned to a connection.", { $0.outstanding }),
            ("carillon_queue", "Deliveries that wait for a connection.", { $0.queue }),
            ("carillon_credit", "Number of further deliveries that the gateway accepts.", { $0.credit }),
            ("carillon_connections_wanted", "Number of connections that the gateway needs now.", { $0.wanted }),
            (
                "carillon_connect_failures_in_a_row", "Failed attempts to connect since the last successful one.",
                { $0.failedConnectsInARow }
            ),
            (
                "carillon_breaker_open", "1 while the circuit breaker is open or half-open.",
                { $0.isLetAlone ? 1 : 0 }
            ),
            (
                "carillon_failing_origins",
                "Push services of browsers, of several, whose circuit breaker is open or half-open.",
                { $0.failing.count }
            ),
        ]
        for (name, help, read) in numbers {
            gauges(registry, named: name, help: help) { Double($0.status.gateway.map(read) ?? 0) }
        }
        gauges(
            registry, named: "carillon_provider_token_age_seconds", help: "Age of the provider token in use."
        ) { row in
            guard row.credential.usesTokens else { return nil }
            return row.credential.tokenMintedAt.map { (MonotonicTime.current() - $0).inSeconds } ?? .nan
        }
        registry.computedCounters("carillon_connects_total", help: "Attempts to connect.", labels: ["app"]) {
            [rows] in
            rows.withLock { $0 }.map {
                MetricValue(labels: [$0.status.app.id.name], value: Double($0.status.gateway?.counts.connects ?? 0))
            }
        }
    }

    func update(_ rows: [Row]) {
        self.rows.withLock { $0 = rows }
    }

    /// The series of an app has its name; that of the HTTP port has the kind `http`.
    private func expiries(_ registry: MetricsRegistry, serverEnd: @escaping @Sendable () -> WallTime?) {
        registry.computedGauges(
            "carillon_credential_expiry_timestamp_seconds",
            help: "Unix time at which the credential expires or has expired; absent for keys, which do not expire.",
            labels: ["app", "kind"]
        ) { [rows] in
            let own = serverEnd().map { [MetricValue(labels: ["", "http"], value: $0.inSeconds)] } ?? []
            return own
                + rows.withLock { $0 }.compactMap { row in
                    row.credential.notAfter.map {
                        MetricValue(labels: [row.status.app.id.name, ""], value: $0.inSeconds)
                    }
                }
        }
    }

    private func perState(_ registry: MetricsRegistry) {
        registry.computedGauges("carillon_connections", help: "Connections by state.", labels: ["app", "status"]) {
            [rows] in
            rows.withLock { $0 }.flatMap { row in
                ["connecting", "open", "draining"].map { state in
                    let count = row.status.gateway?.connections.count { $0.state.rawValue == state } ?? 0
                    return MetricValue(labels: [row.status.app.id.name, state], value: Double(count))
                }
            }
        }
        registry.computedGauges(
            "carillon_gateway_state", help: "1 for the state of the gateway, 0 for other states.",
            labels: ["app", "status"]
        ) { [rows] in
            rows.withLock { $0 }.flatMap { row in
                ["running", "paused", "probing", "halted", "draining", "closed"].map { state in
                    MetricValue(
                        labels: [row.status.app.id.name, state], value: row.status.stateLabel == state ? 1 : 0)
                }
            }
        }
    }

    /// Registers a gauge with a series for each app whose value is not nil.
    private func gauges(
        _ registry: MetricsRegistry, named name: String, help: String, value: @escaping @Sendable (Row) -> Double?
    ) {
        registry.computedGauges(name, help: help, labels: ["app"]) { [rows] in
            rows.withLock { $0 }.compactMap { row in
                value(row).map { MetricValue(labels: [row.status.app.id.name], value: $0) }
            }
        }
    }
}

extension ServedStatus {
    fileprivate var stateLabel: String {
        if pausedAt != nil { return "paused" }
        return switch gateway?.state {
        case .running: "running"
        case .paused: "paused"
        case .probing: "probing"
        case .halted, nil: "halted"
        case .draining: "draining"
        case .closed: "closed"
        }
    }
}

extension WallTime {
    fileprivate var inSeconds: Double { Double(milliseconds) / 1000 }
}

extension GatewayStatus {
    var isLetAlone: Bool {
        switch state {
        case .paused, .probing: true
        case .running, .halted, .draining, .closed: false
        }
    }
}
