/// The series of one metric in order of creation, with an index by labels.
struct SeriesTable: Sendable {
    struct Series: Sendable {
        let labels: MetricLabels
        let source: MetricsRegistry.Source
    }

    private var indices: [MetricLabels: Int] = [:]
    /// The series, with nil in place of removed ones.
    private var series: [Series?] = []

    var count: Int { indices.count }
    var isEmpty: Bool { indices.isEmpty }
    var inOrder: some Sequence<Series> { series.lazy.compactMap(\.self) }

    subscript(_ labels: MetricLabels) -> MetricsRegistry.Source? {
        indices[labels].flatMap { series[$0]?.source }
    }

    mutating func append(_ source: MetricsRegistry.Source, labels: MetricLabels) {
        indices[labels] = series.count
        series.append(Series(labels: labels, source: source))
    }

    /// Removes a series. Returns false if there is none with these labels.
    mutating func remove(_ labels: MetricLabels) -> Bool {
        guard let index = indices.removeValue(forKey: labels) else { return false }
        series[index] = nil
        // Compact the array when most of it is gaps, so that the cost per removal is small.
        if series.count > 2 * indices.count + 16 {
            series.removeAll { $0 == nil }
            for (index, one) in series.enumerated() {
                if let one { indices[one.labels] = index }
            }
        }
        return true
    }
}
