import PushLoop

/// What metrics show of a webhook.
struct WebhookReading: Sendable {
    /// How a request ended, as the label of a metric.
    enum Outcome: String, CaseIterable, Sendable {
        case informational = "1xx"
        case success = "2xx"
        case redirection = "3xx"
        case clientError = "4xx"
        case serverError = "5xx"
        /// There was no response.
        case none

        init(status: Int) {
            self =
                switch status {
                case ..<200: .informational
                case 200..<300: .success
                case 300..<400: .redirection
                case 400..<500: .clientError
                default: .serverError
                }
        }
    }

    var position: UInt64 = 0
    /// The event numbers between the position and the newest event, when the reading was asked for.
    var lag: UInt64 = 0
    var lastStatus: Int?
    /// Why the last request had no response.
    var lastFault: String?
    var lastAt: WallTime?
    var lastSuccess: WallTime?
    var requests: [Outcome: UInt64] = [:]

    mutating func take(_ outcome: Outcome, status: Int?, fault: String?, at now: WallTime) {
        (lastStatus, lastFault, lastAt) = (status, fault, now)
        requests[outcome, default: 0] += 1
    }
}

extension WebhookReading {
    /// The webhooks by name, each with the sum of its parts.
    static func all(_ webhooks: [Webhook], newest: (Int) -> UInt64) -> [(name: String, reading: WebhookReading)] {
        Dictionary(grouping: webhooks, by: \.name).sorted { $0.key < $1.key }.map { name, parts in
            var sum = WebhookReading()
            for part in parts {
                let (reading, newest) = (part.reading.withLock { $0 }, newest(part.part))
                sum.lag += newest - min(newest, reading.position)
                sum.lastSuccess = [sum.lastSuccess, reading.lastSuccess].compactMap(\.self).max()
                sum.requests.merge(reading.requests, uniquingKeysWith: +)
            }
            return (name, sum)
        }
    }
}

/// The metrics of all webhooks, computed when they are asked for.
enum WebhookMetrics {
    static func register(
        in registry: MetricsRegistry, readings: @escaping @Sendable () -> [(name: String, reading: WebhookReading)]
    ) {
        registry.computedGauges(
            "carillon_webhook_lag_events",
            help: "Event numbers between the position of a webhook and the newest event.", labels: ["webhook"]
        ) {
            readings().map { MetricValue(labels: [$0.name], value: Double($0.reading.lag)) }
        }
        registry.computedGauges(
            "carillon_webhook_last_success_timestamp_seconds",
            help: "Time of the last batch that the receiver of a webhook took, since the start.", labels: ["webhook"]
        ) {
            readings().compactMap { name, reading in
                reading.lastSuccess.map { MetricValue(labels: [name], value: Double($0.milliseconds) / 1000) }
            }
        }
        registry.computedCounters(
            "carillon_webhook_requests_total",
            help: "Requests to the receiver of a webhook, by the class of the status; none without a response.",
            labels: ["webhook", "status"]
        ) {
            readings().flatMap { name, reading in
                reading.requests.map { MetricValue(labels: [name, $0.key.rawValue], value: Double($0.value)) }
            }
        }
    }
}
