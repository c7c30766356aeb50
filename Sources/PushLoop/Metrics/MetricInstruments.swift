import Synchronization

/// A counter. It is thread-safe and costs one atomic addition.
package final class Counter: Sendable {
    private let total = Atomic<UInt64>(0)

    init() {}

    package func increment() {
        total.wrappingAdd(1, ordering: .relaxed)
    }

    package func increment(by amount: Int) {
        precondition(amount >= 0, "a counter cannot decrease by \(-amount); use a gauge")
        total.wrappingAdd(UInt64(amount), ordering: .relaxed)
    }

    package var value: UInt64 { total.load(ordering: .relaxed) }
}

/// A gauge. It is thread-safe and costs one atomic operation.
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

/// A histogram with fixed buckets. It is thread-safe and costs a search in the bounds and two atomic additions.
@safe
package final class Histogram: Sendable {
    /// One counter per bound, and one for values above the last bound. The memory is not moved and is freed with the
    /// histogram. The elements are atomic.
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

    /// Observes a duration. Only for histograms of durations.
    package func observe(_ duration: Duration) {
        precondition(buckets.unit == .seconds, "a duration was observed by a histogram of numbers")
        record(duration.wholeNanoseconds)
    }

    /// Observes a number (of bytes, of messages). Only for histograms of numbers.
    package func observe(_ number: Int) {
        precondition(buckets.unit == .numbers, "a number was observed by a histogram of durations")
        record(Int64(number))
    }

    private func record(_ value: Int64) {
        unsafe counts[buckets.index(of: value)].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(value, ordering: .relaxed)
    }

    /// The observations per bucket (not cumulative), and their sum in seconds or as a number.
    package var snapshot: (counts: [UInt64], sum: Double) {
        let read = (0...buckets.bounds.count).map { unsafe counts[$0].load(ordering: .relaxed) }
        return (read, buckets.scaled(sum.load(ordering: .relaxed)))
    }
}

/// The upper bounds of a histogram in ascending order. A value equal to a bound counts in that bound's bucket.
package struct HistogramBuckets: Hashable, Sendable {
    enum Unit: Hashable {
        /// Durations, stored as nanoseconds and rendered as seconds.
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

    /// Bounds from 200 microseconds to ten seconds, in steps of 1, 2 and 5.
    package static let latencies = durations([
        .microseconds(200), .microseconds(500), .milliseconds(1), .milliseconds(2), .milliseconds(5),
        .milliseconds(10), .milliseconds(20), .milliseconds(50), .milliseconds(100), .milliseconds(200),
        .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(10),
    ])

    private init(unit: Unit, bounds: [Int64]) {
        precondition(!bounds.isEmpty, "a histogram needs at least one bound")
        precondition(
            zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds of a histogram must ascend: \(bounds)")
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
