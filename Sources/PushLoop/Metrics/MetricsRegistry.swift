import Synchronization

/// Where metrics are registered and read. Registering is for start and reload; what it returns is for the hot path.
///
/// The same name, kind and labels again give the series there is. The same name with another kind, help, label names
/// or bounds is a programming error and ends the process with a message.
///
/// How many series there are depends on the configuration and on what peers answer, so that too many of them is no
/// error: beyond `maximumSeries` a metric takes no more. The caller gets a series to count on that is not shown, and
/// `refusedSeries` says how often that happened.
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

    struct Metric: Sendable {
        let name: String
        let help: String
        let kind: Kind
        let labelNames: [String]
        var series = SeriesTable()
        /// Instead of series: asked for all of them when the metrics are rendered.
        var values: (@Sendable () -> [MetricValue])?

        /// Why a series cannot be one of this metric; nil if it can.
        func clash(_ kind: Kind, _ labels: MetricLabels, _ help: String) -> String? {
            if values != nil { return "is computed for all its labels together already" }
            if self.kind != kind { return "is a \(self.kind) already; it cannot be a \(kind) as well" }
            if labelNames != labels.names {
                return "has the labels \(labelNames); it cannot have \(labels.names) as well"
            }
            return self.help == help ? nil : "has another help text already: \"\(self.help)\""
        }
    }

    /// Of one metric, not counting those that are computed all together.
    private let maximumSeries: Int
    private let metrics = Locked<[String: Metric]>([:])
    private let refused = Counter()

    package init(maximumSeries: Int = 20_000) {
        self.maximumSeries = maximumSeries
    }

    /// Series that were asked for and are not shown, since their metric has as many as it may.
    package var refusedSeries: UInt64 { refused.value }

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

    /// Gauges of one name that are asked for their labels and values together when the metrics are rendered: nothing is
    /// kept for any one of them, so that there may be many.
    package func computedGauges(
        _ name: String, help: String, labels: [String], values: @escaping @Sendable () -> [MetricValue]
    ) {
        registerFamily(name, help, .gauge, labels, values)
    }

    /// The same for counters that something else keeps. They must not go down.
    package func computedCounters(
        _ name: String, help: String, labels: [String], values: @escaping @Sendable () -> [MetricValue]
    ) {
        registerFamily(name, help, .counter, labels, values)
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
        metrics.withLock { $0[name]?.series.remove(labels) ?? false }
    }

    // MARK: Rendering

    /// Prometheus text exposition, version 0.0.4, in the order of the names.
    package func render() -> String {
        // Out of the lock: a computed gauge may take its time, or register something.
        let metrics = metrics.withLock { $0.values.sorted { $0.name < $1.name } }
        var page = PrometheusPage()
        for metric in metrics {
            let values = metric.values?() ?? []
            if !metric.series.isEmpty || !values.isEmpty { page.append(metric, values) }
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

    private func registerFamily(
        _ name: String, _ help: String, _ kind: Kind, _ labels: [String],
        _ values: @escaping @Sendable () -> [MetricValue]
    ) {
        if let fault = MetricNames.fault(name: name, kind: kind, labels: MetricLabels(names: labels)) {
            preconditionFailure("metric \(name): \(fault)")
        }
        metrics.withLock { metrics in
            if let known = metrics[name] { mixed(name, "a \(known.kind.rawValue)") }
            if let other = Self.clash(of: name, kind, in: metrics) {
                preconditionFailure("metric \(name): its rendered names are those of \(other)")
            }
            metrics[name] = Metric(name: name, help: help, kind: kind, labelNames: labels, values: values)
        }
    }

    private func register(
        _ name: String, _ help: String, _ kind: Kind, _ labels: MetricLabels, _ make: () -> Source
    ) -> Source {
        if let fault = MetricNames.fault(name: name, kind: kind, labels: labels) {
            preconditionFailure("metric \(name): \(fault)")
        }
        return metrics.withLock { metrics in
            // Never held by another name than this: to add to what is held twice would copy all of it.
            guard metrics[name] != nil else {
                if let other = Self.clash(of: name, kind, in: metrics) {
                    preconditionFailure("metric \(name): its rendered names are those of \(other)")
                }
                let source = make()
                metrics[name] = Metric(name: name, help: help, kind: kind, labelNames: labels.names)
                metrics[name]?.series.append(source, labels)
                return source
            }
            if let fault = metrics[name]?.clash(kind, labels, help) { preconditionFailure("metric \(name) \(fault)") }
            if let known = metrics[name]?.series[labels] { return known }
            let source = make()
            if metrics[name]?.series.count ?? 0 < maximumSeries {
                metrics[name]?.series.append(source, labels)
            } else {
                refused.increment()
            }
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
