/// The series of one metric, found by their labels, in the order in which they were made.
struct SeriesTable: Sendable {
    struct Series: Sendable {
        let labels: MetricLabels
        let source: MetricsRegistry.Source
    }

    private var places: [MetricLabels: Int] = [:]
    /// With a gap where one was removed.
    private var series: [Series?] = []

    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }
    var inOrder: some Sequence<Series> { series.lazy.compactMap(\.self) }

    subscript(_ labels: MetricLabels) -> MetricsRegistry.Source? {
        places[labels].flatMap { series[$0]?.source }
    }

    mutating func append(_ source: MetricsRegistry.Source, _ labels: MetricLabels) {
        places[labels] = series.count
        series.append(Series(labels: labels, source: source))
    }

    /// False if there is none.
    mutating func remove(_ labels: MetricLabels) -> Bool {
        guard let place = places.removeValue(forKey: labels) else { return false }
        series[place] = nil
        // Gaps are closed when they are the greater part, so that many removals cost little each.
        if series.count > 2 * places.count + 16 {
            series.removeAll { $0 == nil }
            for (place, one) in series.enumerated() {
                if let one { places[one.labels] = place }
            }
        }
        return true
    }
}
