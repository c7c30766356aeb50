import PushGateways
import PushLoop
import PushModel

/// The series of one app. What happens often is counted where it happens; what merely is, is read off its last status.
final class AppMetrics: Sendable {
    private struct Current {
        var status: ServedStatus?
        var token: MonotonicTime?
        var notAfter: WallTime?
        var isRemoved = false
        var made: [(name: String, labels: MetricLabels)] = []
        var answers: [Answer: Counter] = [:]
        var endings: [Ending: Counter] = [:]
    }

    private struct Answer: Hashable {
        let status: Int
        let reason: ProviderReason?
    }

    enum Ending: String, CaseIterable {
        case accepted, rejected, retry, unknown, expired, returned
    }

    private let app: AppID
    private let registry: MetricsRegistry
    private let current = Locked(Current())
    private let latency: Histogram

    init(_ app: AppID, in registry: MetricsRegistry) {
        self.app = app
        self.registry = registry
        let labels: MetricLabels = ["app": app.name]
        latency = registry.histogram(
            "carillon_answer_seconds", help: "From a request's leaving to the provider's answer.", labels: labels)
        current.withLock { $0.made.append(("carillon_answer_seconds", labels)) }
        registerStatus()
        for ending in Ending.allCases { _ = counter(of: ending) }
        _ = counter(of: Answer(status: 200, reason: nil))
    }

    // MARK: What happens

    /// On the gateway's loop: one lookup for each kind of ending in the report, not for each delivery.
    func count(_ reports: [DeliveryReport]) {
        var accepted = 0
        var others: [(Ending, Answer?)] = []
        for report in reports {
            switch report.outcome {
            case .accepted:
                accepted += 1
                latency.observe(report.latency)
            case .rejected(let refusal, _):
                others.append((.rejected, Answer(status: refusal.status, reason: refusal.reason)))
                latency.observe(report.latency)
            case .retry(_, let refusal):
                others.append((.retry, Answer(status: refusal.status, reason: refusal.reason)))
            case .unknown: others.append((.unknown, nil))
            case .expired: others.append((.expired, nil))
            case .returned: others.append((.returned, nil))
            }
        }
        if accepted > 0 {
            counter(of: .accepted)?.increment(by: accepted)
            counter(of: Answer(status: 200, reason: nil))?.increment(by: accepted)
        }
        for (ending, answer) in others {
            counter(of: ending)?.increment()
            // 0: there was no answer to speak of.
            if let answer, answer.status != 0 { counter(of: answer)?.increment() }
        }
    }

    func tokenCame(_ token: ProviderToken) { current.withLock { $0.token = token.mintedAt } }

    /// What is shown of a credential depends on its kind: a key does not expire, a certificate needs no tokens.
    func credentialIs(_ facts: CredentialFacts) {
        let labels: MetricLabels = ["app": app.name]
        let (expiry, age) = ("carillon_credential_expiry_seconds", "carillon_provider_token_age_seconds")
        let had = current.withLock { current in
            defer { current.notAfter = facts.notAfter }
            return current.made.contains { $0.name == expiry }
        }
        if facts.notAfter != nil, !had {
            computed(expiry, "Until the credential expires; negative when it has.", labels) {
                ($0.notAfter.map { Double($0.milliseconds - WallTime.current().milliseconds) } ?? .nan) / 1000
            }
        } else if facts.notAfter == nil, had {
            forget(expiry, labels)
        }
        let hasAge = current.withLock { $0.made.contains { $0.name == age } }
        if facts.kind == .providerKey, !hasAge {
            computed(age, "Since the provider token in use was minted.", labels) {
                $0.token.map { (MonotonicTime.current() - $0).inSeconds } ?? .nan
            }
        } else if facts.kind == .certificate, hasAge {
            forget(age, labels)
        }
    }

    /// Takes the series out: the app is gone.
    func remove() {
        let made = current.withLock { current in
            current.isRemoved = true
            return exchange(&current.made, with: [])
        }
        for (name, labels) in made { registry.remove(name, labels: labels) }
    }

    func update(_ status: ServedStatus) { current.withLock { $0.status = status } }

    // MARK: Series

    private func registerStatus() {
        let app = app.name
        for state in ["connecting", "open", "draining"] {
            computed("carillon_connections", "Connections by state.", ["app": app, "status": state]) {
                Double($0.status?.gateway?.connections.count { $0.state.rawValue == state } ?? 0)
            }
        }
        for state in ["running", "paused", "probing", "halted", "draining", "closed"] {
            computed(
                "carillon_gateway_state", "1 for the state that the gateway is in.", ["app": app, "status": state]
            ) { ($0.status?.stateLabel ?? "halted") == state ? 1 : 0 }
        }
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
            computed(name, help, ["app": app]) { Double($0.status?.gateway.map(read) ?? 0) }
        }
        let labels: MetricLabels = ["app": app]
        registry.computedCounter("carillon_connects_total", help: "Connections that were begun.", labels: labels) {
            [current] in Double(current.withLock { $0.status?.gateway?.counts.connects ?? 0 })
        }
        current.withLock { $0.made.append(("carillon_connects_total", labels)) }
    }

    private func computed(
        _ name: String, _ help: String, _ labels: MetricLabels, _ value: @escaping @Sendable (Current) -> Double
    ) {
        registry.computedGauge(name, help: help, labels: labels) { [current] in current.withLock { value($0) } }
        current.withLock { $0.made.append((name, labels)) }
    }

    private func forget(_ name: String, _ labels: MetricLabels) {
        registry.remove(name, labels: labels)
        current.withLock { $0.made.removeAll { $0.name == name } }
    }

    private func counter(of ending: Ending) -> Counter? {
        counter(
            "carillon_deliveries_total", "Deliveries that the gateway has reported, by how they ended.",
            ["app": app.name, "kind": ending.rawValue], kept: \.endings, ending)
    }

    private func counter(of answer: Answer) -> Counter? {
        counter(
            "carillon_answers_total", "Answers of the push service that were reported with a delivery.",
            [
                "app": app.name, "status": Self.label(ofStatus: answer.status),
                "reason": answer.reason?.label ?? "none",
            ], kept: \.answers,
            Answer(status: answer.status, reason: answer.reason.map { ProviderReason(rawValue: $0.label) }))
    }

    /// Nil once its app has gone: a late report makes no new series, and counts on none of whoever came back.
    private func counter<Key: Hashable>(
        _ name: String, _ help: String, _ labels: @autoclosure () -> MetricLabels,
        kept: WritableKeyPath<Current, [Key: Counter]>, _ key: Key
    ) -> Counter? {
        current.withLock { current in
            if current.isRemoved { return nil }
            if let known = current[keyPath: kept][key] { return known }
            let labels = labels()
            let counter = registry.counter(name, help: help, labels: labels)
            current[keyPath: kept][key] = counter
            current.made.append((name, labels))
            return counter
        }
    }

    /// A closed set, whatever a peer answers.
    static func label(ofStatus status: Int) -> String {
        status == 200 || KnownReason.all.contains { $0.status == status } ? "\(status)" : ProviderReason.otherLabel
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
