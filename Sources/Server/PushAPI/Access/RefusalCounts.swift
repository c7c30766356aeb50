package import PushLoop
import PushModel
import Synchronization

/// The requests that were refused by a port, by reason. The reasons are a closed set, so that no client can create
/// series.
package final class RefusalCounts: Sendable {
    private final class Total: Sendable {
        let value = Atomic<UInt64>(0)
    }

    private static let reasons = AccessReason.allCases
    private static let places = Dictionary(uniqueKeysWithValues: reasons.enumerated().map { ($1, $0) })

    private let totals = RefusalCounts.reasons.map { _ in Total() }

    package init() {}

    /// Creates the counts, and registers them as a metric.
    package convenience init(in registry: MetricsRegistry) {
        self.init()
        registry.computedCounters(
            "carillon_http_refusals_total", help: "Refused HTTP requests, by reason.", labels: ["reason"]
        ) { [totals] in
            zip(Self.reasons, totals).map { reason, total in
                MetricValue(labels: [reason.rawValue], value: Double(total.value.load(ordering: .relaxed)))
            }
        }
    }

    func count(_ reason: AccessReason) {
        guard let place = Self.places[reason] else { return }
        totals[place].value.wrappingAdd(1, ordering: .relaxed)
    }

    /// The counts of the reasons for which requests were refused, by the name of the reason.
    package var byReason: [String: UInt64] {
        var counts: [String: UInt64] = [:]
        for (reason, total) in zip(Self.reasons, totals) {
            let count = total.value.load(ordering: .relaxed)
            if count > 0 { counts[reason.rawValue] = count }
        }
        return counts
    }
}
