import Synchronization

/// A registry of metrics. Register metrics at start and reload; update the returned instruments on the hot path.
///
/// Registering the same name, kind and labels again returns the existing series. Registering the same name with another
/// kind, help text, label names or bounds is a programming error and ends the process with a message.
///
/// The number of series depends on the configuration and on the responses of peers, so too many series are not an
/// error: above `maxSeries`, a metric accepts no more. The caller then gets a series that is not rendered, and
/// ``refusedSeries`` counts the refusals.
package final class MetricsRegistry: Sendable {
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    enum Source: Sendable {
        case counter(Counter)
        case histogram(Histogram, HistogramBuckets)
        case computed(@Sendable () -> Double)
    }

    struct Metric: Sendable {
        let name: String
        let help: String
        let kind: Kind
        let labelNames: [String]
        var series = SeriesTable()
        /// A function that computes all series of the metric when it is rendered, instead of `series`.
        var values: (@Sendable () -> [MetricValue])?

        /// Returns why a series with these properties cannot belong to this metric, or nil if it can.
        func conflict(kind: Kind, labels: MetricLabels, help: String) -> String? {
            if values != nil { return "is already registered as computed for all its labels together" }
            if self.kind != kind { return "is already registered as a \(self.kind); it cannot also be a \(kind)" }
            if labelNames != labels.names {
                return "is already registered with the labels \(labelNames); it cannot also have \(labels.names)"
            }
            return self.help == help ? nil : "is already registered with another help text: \"\(self.help)\""
        }
    }

    /// The maximum number of series per metric, except for metrics that compute all series together.
    private let maxSeries: Int
    private let metrics = Locked<[String: Metric]>([:])
    private let refused = Counter()

    package init(maxSeries: Int = 20_000) {
        self.maxSeries = maxSeries
    }

    /// The number of requested series that are not rendered because their metric had reached `maxSeries`.
    package var refusedSeries: UInt64 { refused.value }

    // MARK: Registration

    package func counter(_ name: String, help: String, labels: MetricLabels = [:]) -> Counter {
        let source = register(name, help: help, kind: .counter, labels: labels) { .counter(Counter()) }
        guard case .counter(let counter) = source else { failAlreadyRegistered(name, as: "computed") }
        return counter
    }

    package func histogram(
        _ name: String, help: String, buckets: HistogramBuckets = .latencies, labels: MetricLabels = [:]
    ) -> Histogram {
        let source = register(name, help: help, kind: .histogram, labels: labels) {
            .histogram(Histogram(buckets: buckets), buckets)
        }
        guard case .histogram(let histogram, let known) = source else { failAlreadyRegistered(name, as: "computed") }
        precondition(known == buckets, "metric \(name) is already registered with other bounds")
        return histogram
    }

    /// Registers a gauge whose value is computed when the metrics are rendered, on the rendering thread.
    package func computedGauge(
        _ name: String, help: String, labels: MetricLabels = [:], value: @escaping @Sendable () -> Double
    ) {
        registerComputed(name, help: help, kind: .gauge, labels: labels, value: value)
    }

    /// Registers a counter that is kept elsewhere (by the kernel, by a library). It must not decrease.
    package func computedCounter(
        _ name: String, help: String, labels: MetricLabels = [:], value: @escaping @Sendable () -> Double
    ) {
        registerComputed(name, help: help, kind: .counter, labels: labels, value: value)
    }

    /// Registers gauges of one name whose labels and values are computed together when the metrics are rendered. No
    /// memory is kept per series, so there may be many.
    package func computedGauges(
        _ name: String, help: String, labels: [String], values: @escaping @Sendable () -> [MetricValue]
    ) {
        registerFamily(name, help: help, kind: .gauge, labels: labels, values: values)
    }

    /// Registers counters that are kept elsewhere, in the same way. They must not decrease.
    package func computedCounters(
        _ name: String, help: String, labels: [String], values: @escaping @Sendable () -> [MetricValue]
    ) {
        registerFamily(name, help: help, kind: .counter, labels: labels, values: values)
    }

    /// Removes the series with these labels, for example when its app was removed. Instruments of the series that are
    /// still in use have no effect any more. Returns false if there is no such series.
    @discardableResult
    package func remove(_ name: String, labels: MetricLabels) -> Bool {
        metrics.withLock { $0[name]?.series.remove(labels) ?? false }
    }

    // MARK: Rendering

    /// Returns all metrics in the Prometheus text exposition format 0.0.4, sorted by name.
    package func render() -> String {
        // Outside of the lock: a computed gauge may take long or register a metric.
        let metrics = metrics.withLock { $0.values.sorted { $0.name < $1.name } }
        var page = PrometheusPage()
        for metric in metrics {
            let values = metric.values?() ?? []
            if !metric.series.isEmpty || !values.isEmpty { page.append(metric, values: values) }
        }
        return page.text
    }

    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    // MARK: Checks

    private func registerComputed(
        _ name: String, help: String, kind: Kind, labels: MetricLabels, value: @escaping @Sendable () -> Double
    ) {
        let isNew = Atomic(false)
        _ = register(name, help: help, kind: kind, labels: labels) {
            isNew.store(true, ordering: .relaxed)
            return .computed(value)
        }
        precondition(
            isNew.load(ordering: .relaxed), "metric \(name) is already registered; a series can be computed only once")
    }

    private func registerFamily(
        _ name: String, help: String, kind: Kind, labels: [String],
        values: @escaping @Sendable () -> [MetricValue]
    ) {
        if let fault = MetricNames.fault(name: name, kind: kind, labels: MetricLabels(names: labels)) {
            preconditionFailure("metric \(name): \(fault)")
        }
        metrics.withLock { metrics in
            if let known = metrics[name] { failAlreadyRegistered(name, as: "a \(known.kind.rawValue)") }
            if let other = Self.collision(of: name, kind: kind, in: metrics) {
                preconditionFailure("metric \(name): its rendered names collide with those of \(other)")
            }
            metrics[name] = Metric(name: name, help: help, kind: kind, labelNames: labels, values: values)
        }
    }

    private func register(
        _ name: String, help: String, kind: Kind, labels: MetricLabels, source make: () -> Source
    ) -> Source {
        if let fault = MetricNames.fault(name: name, kind: kind, labels: labels) {
            preconditionFailure("metric \(name): \(fault)")
        }
        return metrics.withLock { metrics in
            // Change the metric in place. A second reference would cause a copy of the whole table on each append.
            guard metrics[name] != nil else {
                if let other = Self.collision(of: name, kind: kind, in: metrics) {
                    preconditionFailure("metric \(name): its rendered names collide with those of \(other)")
                }
                let source = make()
                metrics[name] = Metric(name: name, help: help, kind: kind, labelNames: labels.names)
                metrics[name]?.series.append(source, labels: labels)
                return source
            }
            if let conflict = metrics[name]?.conflict(kind: kind, labels: labels, help: help) {
                preconditionFailure("metric \(name) \(conflict)")
            }
            if let known = metrics[name]?.series[labels] { return known }
            let source = make()
            if metrics[name]?.series.count ?? 0 < maxSeries {
                metrics[name]?.series.append(source, labels: labels)
            } else {
                refused.increment()
            }
            return source
        }
    }

    /// Returns the metric that collides with this name. A histogram `x` renders `x_sum`, so no other metric may have
    /// that name.
    private static func collision(of name: String, kind: Kind, in metrics: [String: Metric]) -> String? {
        for suffix in ["_bucket", "_sum", "_count"] {
            if kind == .histogram, metrics[name + suffix] != nil { return name + suffix }
            if name.hasSuffix(suffix) {
                let stem = String(name.dropLast(suffix.count))
                if metrics[stem]?.kind == .histogram { return stem }
            }
        }
        return nil
    }

    private func failAlreadyRegistered(_ name: String, as other: String) -> Never {
        preconditionFailure("metric \(name) is already registered as \(other)")
    }
}
