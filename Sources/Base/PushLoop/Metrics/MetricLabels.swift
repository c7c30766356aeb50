/// The label names and values that distinguish the series of one metric, in the order of output.
package struct MetricLabels: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    struct Pair: Hashable, Sendable {
        let name: String
        let value: String
    }

    private(set) var pairs: [Pair]

    package init(dictionaryLiteral elements: (String, String)...) {
        pairs = elements.map { Pair(name: $0.0, value: $0.1) }
    }

    /// Creates labels with empty values, for a check of the names.
    init(names: [String]) {
        pairs = names.map { Pair(name: $0, value: "") }
    }

    /// Creates labels without those whose value is empty, which is the same for Prometheus.
    init(names: [String], values: [String]) {
        pairs = zip(names, values).compactMap { $1.isEmpty ? nil : Pair(name: $0, value: $1) }
    }

    func adding(_ value: String, named name: String) -> MetricLabels {
        var labels = self
        labels.pairs.append(Pair(name: name, value: value))
        return labels
    }

    var names: [String] { pairs.map(\.name) }
}

/// One value of a metric that computes all its series together: the label values in the order of the names, and the
/// number.
package struct MetricValue: Sendable {
    let labels: [String]
    let value: Double

    package init(labels: [String], value: Double) {
        self.labels = labels
        self.value = value
    }
}
