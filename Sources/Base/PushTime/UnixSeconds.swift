/// A time of the wall clock in whole seconds, as requests and push services give times.
package struct UnixSeconds: Hashable, Comparable, Sendable {
    /// Seconds since 1970-01-01T00:00:00Z.
    package let value: Int64

    package init(_ value: Int64) {
        self.value = value
    }

    package static func < (left: UnixSeconds, right: UnixSeconds) -> Bool { left.value < right.value }

    /// Returns a later time, by the whole seconds of the duration. It saturates.
    package static func + (time: UnixSeconds, duration: Duration) -> UnixSeconds {
        let (sum, overflow) = time.value.addingReportingOverflow(duration.components.seconds)
        return UnixSeconds(overflow ? (duration < .zero ? .min : .max) : sum)
    }
}

extension UnixSeconds: CustomStringConvertible {
    package var description: String { "\(value)" }
}
