import PushTime

/// The times since which the connections have been too busy, or too quiet, for their number.
struct LoadGauge {
    private(set) var busySince: MonotonicTime?
    private(set) var quietSince: MonotonicTime?

    /// Takes a measurement.
    ///
    /// - Parameters:
    ///   - busy: The share of the streams that is in use.
    ///   - busyWithout: The share that would be in use with one connection fewer; nil if there is only one.
    mutating func observe(busy: Double, busyWithout: Double?, policy: GatewayPolicy, now: MonotonicTime) {
        if busy >= policy.busyShare {
            if busySince == nil { busySince = now }
        } else if busy < policy.busyShare / 2 {
            // Between the two thresholds nothing changes, since the use varies with every batch of answers.
            busySince = nil
        }
        if let busyWithout, busyWithout < policy.quietShare {
            if quietSince == nil { quietSince = now }
        } else {
            quietSince = nil
        }
    }

    mutating func reset() {
        busySince = nil
        quietSince = nil
    }
}
