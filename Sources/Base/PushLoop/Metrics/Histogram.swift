import Synchronization

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
