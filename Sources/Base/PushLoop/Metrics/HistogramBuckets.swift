/// The upper bounds of a histogram of durations in ascending order. A value equal to a bound counts in that bound's bucket.
package struct HistogramBuckets: Hashable, Sendable {
    /// Nanoseconds, which are rendered as seconds.
    let bounds: [Int64]

    /// Bounds from 200 microseconds to ten seconds, in steps of 1, 2 and 5.
    package static let latencies = HistogramBuckets([
        .microseconds(200), .microseconds(500), .milliseconds(1), .milliseconds(2), .milliseconds(5),
        .milliseconds(10), .milliseconds(20), .milliseconds(50), .milliseconds(100), .milliseconds(200),
        .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(10),
    ])

    package init(_ durations: [Duration]) {
        let bounds = durations.map(\.wholeNanoseconds)
        precondition(!bounds.isEmpty, "a histogram needs at least one bound")
        precondition(
            zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds of a histogram must ascend: \(bounds)")
        self.bounds = bounds
    }

    func index(of value: Int64) -> Int {
        var low = 0
        var high = bounds.count
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] < value {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
