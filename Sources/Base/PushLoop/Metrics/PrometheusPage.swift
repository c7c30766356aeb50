/// A page of metrics in the Prometheus text exposition format 0.0.4.
struct PrometheusPage {
    private(set) var text = ""

    /// Appends a metric.
    ///
    /// - Parameter values: The values of a metric that computes all its series together.
    mutating func append(_ metric: MetricsRegistry.Metric, values: [MetricValue]) {
        text += "# HELP \(metric.name) \(Self.escaped(metric.help, quotes: false))\n"
        text += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
        for value in values {
            let labels = MetricLabels(names: metric.labelNames, values: value.labels)
            append(metric.name, labels: labels, value: Self.number(value.value))
        }
        for series in metric.series.inOrder {
            switch series.source {
            case .counter(let counter): append(metric.name, labels: series.labels, value: String(counter.value))
            case .computed(let value): append(metric.name, labels: series.labels, value: Self.number(value()))
            case .histogram(let histogram, let buckets):
                append(histogram, buckets: buckets, name: metric.name, labels: series.labels)
            }
        }
    }

    private mutating func append(
        _ histogram: Histogram, buckets: HistogramBuckets, name: String, labels: MetricLabels
    ) {
        // Take one snapshot for all lines, so that the count matches the buckets while other threads observe.
        let (counts, sum) = histogram.snapshot
        var total: UInt64 = 0
        for (index, count) in counts.enumerated() {
            total += count
            let bound = index < buckets.bounds.count ? Self.number(Double(buckets.bounds[index]) / 1e9) : "+Inf"
            append(name + "_bucket", labels: labels.adding(bound, named: "le"), value: String(total))
        }
        append(name + "_sum", labels: labels, value: Self.number(sum))
        append(name + "_count", labels: labels, value: String(total))
    }

    private mutating func append(_ name: String, labels: MetricLabels, value: String) {
        text += name
        if !labels.pairs.isEmpty {
            text += "{"
            for (index, pair) in labels.pairs.enumerated() {
                text += index > 0 ? "," : ""
                text += "\(pair.name)=\"\(Self.escaped(pair.value, quotes: true))\""
            }
            text += "}"
        }
        text += " \(value)\n"
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        // Write a whole number without ".0" if it is in the range in which a double is exact for whole numbers.
        return value == value.rounded() && value.magnitude < 9e15 ? String(Int64(value)) : String(value)
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
