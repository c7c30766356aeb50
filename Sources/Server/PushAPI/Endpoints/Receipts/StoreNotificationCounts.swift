package import PushLoop
import Synchronization

/// The notifications of the App Store, by what became of them.
package final class StoreNotificationCounts: Sendable {
    package enum Result: String, CaseIterable, Sendable {
        case stored, duplicate
        /// It was not signed for an app of the configuration.
        case refused
        /// It was not verified or not stored, and Apple sends it again.
        case failed
    }

    private final class Total: Sendable {
        let value = Atomic<UInt64>(0)
    }

    private let totals = Result.allCases.map { _ in Total() }

    /// Creates the counts, and registers them as a metric.
    package init(in registry: MetricsRegistry) {
        registry.computedCounters(
            "carillon_store_notifications_total", help: "Notifications of the App Store, by result.",
            labels: ["result"]
        ) { [totals] in
            zip(Result.allCases, totals).map { result, total in
                MetricValue(labels: [result.rawValue], value: Double(total.value.load(ordering: .relaxed)))
            }
        }
    }

    func count(_ result: Result) {
        for (one, total) in zip(Result.allCases, totals) where one == result {
            total.value.wrappingAdd(1, ordering: .relaxed)
        }
    }
}
