import PushGateways
import PushLoop
import PushModel

/// The metrics of one app that count events. Each series is created by its first event.
final class AppMetrics: Sendable {
    /// The facts about the credential that metrics show. They depend on its kind: a key does not expire, and a
    /// certificate does not need tokens.
    struct Credential: Sendable {
        var notAfter: WallTime?
        var usesTokens = false
        var tokenMintedAt: MonotonicTime?
    }

    private struct Current {
        var credential = Credential()
        var isRemoved = false
        var made: [(name: String, labels: MetricLabels)] = []
        var answers: [Answer: Counter] = [:]
        var outcomes: [OutcomeLabel: Counter] = [:]
        var latency: Histogram?
        var delivery: Histogram?
    }

    private struct Answer: Hashable {
        let status: Int
        let reason: ProviderReason?
    }

    /// The values of the label `kind`. The metric calls a delivery that was sent "accepted".
    enum OutcomeLabel: String, CaseIterable {
        case accepted, rejected, retry, unknown, expired, returned
    }

    private static let latencyName = "carillon_answer_seconds"
    private static let deliveryName = "carillon_delivery_seconds"

    /// Bounds from a millisecond to an hour. A message may wait for long while its push service cannot be reached.
    private static let deliveryBuckets = HistogramBuckets([
        .milliseconds(1), .milliseconds(2), .milliseconds(5), .milliseconds(10), .milliseconds(20), .milliseconds(50),
        .milliseconds(100), .milliseconds(200), .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(10),
        .seconds(30), .seconds(60), .seconds(300), .seconds(1800), .seconds(3600),
    ])

    private let app: AppID
    private let registry: MetricsRegistry
    private let reasons: ReasonTable
    private let current = Locked(Current())

    init(_ app: AppID, reasons: ReasonTable, in registry: MetricsRegistry) {
        self.app = app
        self.reasons = reasons
        self.registry = registry
    }

    // MARK: Events

    /// Counts the outcomes of deliveries. Called on the gateway's loop. Accepted deliveries, the most frequent ones,
    /// are counted together, with one look-up for all of them.
    func count(_ reports: [DeliveryReport]) {
        var accepted = 0
        var others: [(OutcomeLabel, Answer?)] = []
        let histogram = latency
        let reports = reports.span
        for index in reports.indices {
            switch reports[index].outcome {
            case .sent:
                accepted += 1
                histogram?.observe(reports[index].latency)
            case .rejected(let refusal, _):
                others.append((.rejected, Answer(status: refusal.status, reason: refusal.reason)))
                histogram?.observe(reports[index].latency)
            case .retry(let refusal, _):
                others.append((.retry, Answer(status: refusal.status, reason: refusal.reason)))
            case .unknown: others.append((.unknown, nil))
            case .expired: others.append((.expired, nil))
            case nil: others.append((.returned, nil))
            // The router decides these.
            case .suppressed, .superseded, .expiredBecause: break
            }
        }
        if accepted > 0 {
            counter(of: .accepted)?.increment(by: accepted)
            counter(of: Answer(status: 200, reason: nil))?.increment(by: accepted)
        }
        for (label, answer) in others {
            counter(of: label)?.increment()
            // The status 0 means that there was no response.
            if let answer, answer.status != 0 { counter(of: answer)?.increment() }
        }
    }

    var credential: Credential { current.withLock { $0.credential } }

    func tokenMinted(_ token: ProviderToken) { current.withLock { $0.credential.tokenMintedAt = token.mintedAt } }

    func credentialChanged(_ facts: CredentialSummary) {
        current.withLock {
            $0.credential.notAfter = facts.notAfter
            $0.credential.usesTokens = facts.usesTokens
        }
    }

    /// Removes the series of an app that was removed.
    func remove() {
        let made = current.withLock { current in
            current.isRemoved = true
            current.latency = nil
            current.delivery = nil
            return exchange(&current.made, with: [])
        }
        for (name, labels) in made { registry.remove(name, labels: labels) }
    }

    // MARK: Series

    private func counter(of label: OutcomeLabel) -> Counter? {
        counter(
            "carillon_deliveries_total", help: "Attempts reported by the gateway, by result.",
            labels: ["app": app.name, "kind": label.rawValue], kept: \.outcomes, key: label)
    }

    private func counter(of answer: Answer) -> Counter? {
        let (status, reason) = labels(of: answer)
        return counter(
            "carillon_answers_total", help: "Responses of the push service to deliveries, by status and reason.",
            labels: ["app": app.name, "status": status, "reason": reason], kept: \.answers,
            key: Answer(status: answer.status, reason: answer.reason.map { _ in ProviderReason(rawValue: reason) }))
    }

    /// Returns the counter, or nil after the app was removed: a late report must not create a series again, and must
    /// not count for an app of the same name that was added later.
    private func counter<Key: Hashable>(
        _ name: String, help: String, labels: @autoclosure () -> MetricLabels,
        kept: WritableKeyPath<Current, [Key: Counter]>, key: Key
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

    private var latency: Histogram? {
        current.withLock { current in
            if current.isRemoved || current.latency != nil { return current.latency }
            let labels: MetricLabels = ["app": app.name]
            current.latency = registry.histogram(
                Self.latencyName, help: "Time from sending a request to the provider's response.", labels: labels)
            current.made.append((Self.latencyName, labels))
            return current.latency
        }
    }

    /// The histogram of the times from acceptance to response. It is nil after the app was removed.
    var deliveryTimes: Histogram? {
        current.withLock { current in
            if current.isRemoved || current.delivery != nil { return current.delivery }
            let labels: MetricLabels = ["app": app.name]
            current.delivery = registry.histogram(
                Self.deliveryName,
                help: "Time from the acceptance of a message, or its not_before, to the provider's response.",
                buckets: Self.deliveryBuckets, labels: labels)
            current.made.append((Self.deliveryName, labels))
            return current.delivery
        }
    }

    /// Returns labels from a closed set, whatever a peer answers: the known statuses, each only with the reasons that
    /// belong to it. Otherwise a peer could create many series by combining statuses and reasons.
    private func labels(of answer: Answer) -> (status: String, reason: String) {
        let status = answer.status
        let label =
            status == 200 || reasons.all.contains { $0.status == status } ? "\(status)" : ProviderReason.otherLabel
        guard let reason = answer.reason else { return (label, "none") }
        return (label, reasons.known(reason)?.status == status ? reasons.label(of: reason) : ProviderReason.otherLabel)
    }
}
