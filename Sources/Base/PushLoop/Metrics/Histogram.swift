import Synchronization

/// A histogram of durations with fixed buckets. It is thread-safe and costs a search in the bounds and two atomic additions.
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

    package func observe(_ duration: Duration) {
        let value = duration.wholeNanoseconds
        unsafe counts[buckets.index(of: value)].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(value, ordering: .relaxed)
    }

    /// The observations per bucket (not cumulative), and their sum in seconds.
    package var snapshot: (counts: [UInt64], sum: Double) {
        let read = (0...buckets.bounds.count).map { unsafe counts[$0].load(ordering: .relaxed) }
        return (read, Double(sum.load(ordering: .relaxed)) / 1e9)
    }
}
