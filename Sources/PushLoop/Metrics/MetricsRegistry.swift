import Synchronization

/// Where metrics are registered and read. Registering is for start and reload; what it returns is for the hot path.
///
/// The same name, kind and labels again give the series there is. The same name with another kind, help, label names
/// or bounds is a programming error and ends the process with a message.
package final class MetricsRegistry: Sendable {
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    enum Source: Sendable {
        case counter(Counter)
        case gauge(Gauge)
        case histogram(Histogram, HistogramBuckets)
        case computed(@Sendable () -> Double)
    }

    struct Series: Sendable {
        let labels: MetricLabels
        let source: Source
    }

    struct Metric: Sendable {
        let name: String
        let help: String
        let kind: Kind
        let labelNames: [String]
        var series: [Series]
    }

    /// Label values are of closed sets; a metric with more series than this has one that is not.
    private static let maximumSeries = 10_000

    private let metrics = Locked<[String: Metric]>([:])

    package init() {}

    // MARK: Registration

    package func counter(_ name: String, help: String, labels: MetricLabels = [:]) -> Counter {
        let source = register(name, help, .counter, labels) { .counter(Counter()) }
        guard case .counter(let counter) = source else { mixed(name, "computed") }
        return counter
    }

    package func gauge(_ name: String, help: String, labels: MetricLabels = [:]) -> Gauge {
        let source = register(name, help, .gauge, labels) { .gauge(Gauge()) }
        guard case .gauge(let gauge) = source else { mixed(name, "computed") }
        return gauge
    }

    package func histogram(
        _ name: String, help: String, buckets: HistogramBuckets = .latencies, labels: MetricLabels = [:]
    ) -> Histogram {
        let source = register(name, help, .histogram, labels) { .histogram(Histogram(buckets: buckets), buckets) }
        guard case .histogram(let histogram, let known) = source else { mixed(name, "computed") }
        precondition(known == buckets, "metric \(name) is registered already with other bounds")
        return histogram
    }

    /// A gauge that is asked for its value when the metrics are rendered, on the thread that renders them.
    package func computedGauge(
        _ name: String, help: String, labels: MetricLabels = [:], value: @escaping @Sendable () -> Double
    ) {
        registerComputed(name, help, .gauge, labels, value)
    }

    /// A counter that something else keeps (the kernel, a library). It must not go down.
    package func computedCounter(
        _ name: String, help: String, labels: MetricLabels = [:], value: @escaping @Sendable () -> Double
    ) {
        registerComputed(name, help, .counter, labels, value)
    }

    package func counters<Label: MetricLabel>(
        _ name: String, help: String, by label: String, _ type: Label.Type, labels: MetricLabels = [:]
    ) -> MetricFamily<Label, Counter> {
        MetricFamily { counter(name, help: help, labels: labels.adding(label, $0.labelValue)) }
    }

    package func gauges<Label: MetricLabel>(
        _ name: String, help: String, by label: String, _ type: Label.Type, labels: MetricLabels = [:]
    ) -> MetricFamily<Label, Gauge> {
        MetricFamily { gauge(name, help: help, labels: labels.adding(label, $0.labelValue)) }
    }

    package func histograms<Label: MetricLabel>(
        _ name: String, help: String, by label: String, _ type: Label.Type, buckets: HistogramBuckets = .latencies,
        labels: MetricLabels = [:]
    ) -> MetricFamily<Label, Histogram> {
        MetricFamily {
            histogram(name, help: help, buckets: buckets, labels: labels.adding(label, $0.labelValue))
        }
    }

    /// Takes the series with these labels out, when the app it counts for is gone. Whoever still counts on it counts
    /// in vain. False if there is none.
    @discardableResult
    package func remove(_ name: String, labels: MetricLabels) -> Bool {
        metrics.withLock { metrics in
            guard let index = metrics[name]?.series.firstIndex(where: { $0.labels == labels }) else { return false }
            metrics[name]?.series.remove(at: index)
            return true
        }
    }

    // MARK: Rendering

    /// Prometheus text exposition, version 0.0.4, in the order of the names.
    package func render() -> String {
        // Out of the lock: a computed gauge may take its time, or register something.
        let metrics = metrics.withLock { $0.values.sorted { $0.name < $1.name } }
        var page = PrometheusPage()
        for metric in metrics where !metric.series.isEmpty {
            page.append(metric)
        }
        return page.text
    }

    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    // MARK: Checks

    private func registerComputed(
        _ name: String, _ help: String, _ kind: Kind, _ labels: MetricLabels, _ value: @escaping @Sendable () -> Double
    ) {
        let isNew = Atomic(false)
        _ = register(name, help, kind, labels) {
            isNew.store(true, ordering: .relaxed)
            return .computed(value)
        }
        precondition(
            isNew.load(ordering: .relaxed), "metric \(name) is registered already; two cannot compute one series")
    }

    private func register(
        _ name: String, _ help: String, _ kind: Kind, _ labels: MetricLabels, _ make: () -> Source
    ) -> Source {
        if let fault = MetricNames.fault(name: name, kind: kind, labels: labels) {
            preconditionFailure("metric \(name): \(fault)")
        }
        return metrics.withLock { metrics in
            guard var metric = metrics[name] else {
                if let other = Self.clash(of: name, kind, in: metrics) {
                    preconditionFailure("metric \(name): its rendered names are those of \(other)")
                }
                let source = make()
                metrics[name] = Metric(
                    name: name, help: help, kind: kind, labelNames: labels.names,
                    series: [Series(labels: labels, source: source)])
                return source
            }
            precondition(
                metric.kind == kind, "metric \(name) is a \(metric.kind) already; it cannot be a \(kind) as well")
            precondition(
                metric.labelNames == labels.names,
                "metric \(name) has the labels \(metric.labelNames); it cannot have \(labels.names) as well")
            precondition(metric.help == help, "metric \(name) has another help text already: \"\(metric.help)\"")
            if let known = metric.series.first(where: { $0.labels == labels }) { return known.source }
            precondition(
                metric.series.count < Self.maximumSeries,
                "metric \(name) has \(Self.maximumSeries) series: one of its labels is not of a closed set")
            let source = make()
            metric.series.append(Series(labels: labels, source: source))
            metrics[name] = metric
            return source
        }
    }

    /// A histogram `x` renders `x_sum`, which no other metric may be called.
    private static func clash(of name: String, _ kind: Kind, in metrics: [String: Metric]) -> String? {
        for suffix in ["_bucket", "_sum", "_count"] {
            if kind == .histogram, metrics[name + suffix] != nil { return name + suffix }
            if name.hasSuffix(suffix) {
                let stem = String(name.dropLast(suffix.count))
                if metrics[stem]?.kind == .histogram { return stem }
            }
        }
        return nil
    }

    private func mixed(_ name: String, _ other: String) -> Never {
        preconditionFailure("metric \(name) is registered already as \(other)")
    }
}
