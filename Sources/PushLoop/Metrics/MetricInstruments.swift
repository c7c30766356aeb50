import Synchronization

/// Counts up. Safe from every thread; costs one atomic add.
package final class Counter: Sendable {
    private let total = Atomic<UInt64>(0)

    init() {}

    package func increment() {
        total.wrappingAdd(1, ordering: .relaxed)
    }

    package func increment(by amount: Int) {
        precondition(amount >= 0, "a counter cannot go down by \(-amount); use a gauge")
        total.wrappingAdd(UInt64(amount), ordering: .relaxed)
    }

    package var value: UInt64 { total.load(ordering: .relaxed) }
}

/// Goes up and down. Safe from every thread; costs one atomic operation.
package final class Gauge: Sendable {
    private let level = Atomic<Int64>(0)

    init() {}

    package func set(_ value: Int) {
        level.store(Int64(value), ordering: .relaxed)
    }

    package func add(_ amount: Int) {
        level.wrappingAdd(Int64(amount), ordering: .relaxed)
    }

    package func subtract(_ amount: Int) {
        level.wrappingSubtract(Int64(amount), ordering: .relaxed)
    }

    package var value: Int64 { level.load(ordering: .relaxed) }
}

/// Counts observations in fixed buckets. Safe from every thread; costs a search among the bounds and two atomic adds.
@safe
package final class Histogram: Sendable {
    /// One for each bound and one for what is above the last. Never moved, freed with the histogram; the elements
    /// guard themselves.
    private nonisolated(unsafe) let counts: UnsafeMutablePointer<Atomic<UInt64>>
    private let sum = Atomic<Int64>(0)
    private let buckets: HistogramBuckets

    init(buckets: HistogramBuckets) {
        self.buckets = buckets
        unsafe counts = .allocate(capacity: buckets.bounds.count + 1)
        for index in 0...buckets.bounds.count {
            unsafe (counts + index).initialize(to: Atomic(0))
        }
    }

    deinit {
        unsafe counts.deinitialize(count: buckets.bounds.count + 1)
        unsafe counts.deallocate()
    }

    /// Only for a histogram of durations.
    package func observe(_ duration: Duration) {
        precondition(buckets.unit == .seconds, "a duration was observed by a histogram of numbers")
        record(duration.wholeNanoseconds)
    }

    /// Only for a histogram of numbers (bytes, messages).
    package func observe(_ number: Int) {
        precondition(buckets.unit == .numbers, "a number was observed by a histogram of durations")
        record(Int64(number))
    }

    private func record(_ value: Int64) {
        unsafe counts[buckets.index(of: value)].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(value, ordering: .relaxed)
    }

    /// Observations by bucket (not added up), and their sum in seconds or in numbers.
    package var snapshot: (counts: [UInt64], sum: Double) {
        let read = (0...buckets.bounds.count).map { unsafe counts[$0].load(ordering: .relaxed) }
        return (read, buckets.scaled(sum.load(ordering: .relaxed)))
    }
}

/// The upper bounds of a histogram, ascending; a value equal to a bound belongs below it.
package struct HistogramBuckets: Hashable, Sendable {
    enum Unit: Hashable {
        /// Kept as nanoseconds, shown as seconds.
        case seconds
        case numbers
    }

    let unit: Unit
    let bounds: [Int64]

    package static func durations(_ bounds: [Duration]) -> HistogramBuckets {
        HistogramBuckets(unit: .seconds, bounds: bounds.map(\.wholeNanoseconds))
    }

    package static func numbers(_ bounds: [Int]) -> HistogramBuckets {
        HistogramBuckets(unit: .numbers, bounds: bounds.map(Int64.init))
    }

    /// From a fifth of a millisecond to ten seconds, in steps of 1, 2, 5.
    package static let latencies = durations([
        .microseconds(200), .microseconds(500), .milliseconds(1), .milliseconds(2), .milliseconds(5),
        .milliseconds(10), .milliseconds(20), .milliseconds(50), .milliseconds(100), .milliseconds(200),
        .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(10),
    ])

    private init(unit: Unit, bounds: [Int64]) {
        precondition(!bounds.isEmpty, "a histogram needs at least one bound")
        precondition(
            zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds of a histogram ascend: \(bounds)")
        self.unit = unit
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

    func scaled(_ value: Int64) -> Double {
        unit == .seconds ? Double(value) / 1e9 : Double(value)
    }
}
