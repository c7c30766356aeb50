import PushTime

/// Judges whether the clock of the database can be believed when it says that the lease of another node has ended.
///
/// `until` was written by an earlier clock: a standby that is promoted may have another one, and an operator or a time
/// service may set it forward. A clock that jumps ahead would end the leases of all nodes at once, while they still
/// send. Therefore the clock is believed only after it has been observed on one connection for a whole lease without a
/// step: until then every node that lives has renewed its lease by this clock, or has stopped by its own. The same rule
/// keeps nodes from declaring each other dead after an outage of the database.
struct DatabaseClock {
    private struct Observation {
        var databaseTime: Duration
        var sent: MonotonicTime
        var received: MonotonicTime
    }

    /// The first and the last observation in a row without a step.
    private var first: Observation?
    private var last: Observation?
    private(set) var isTrusted = false

    /// Called when the connection is lost or made.
    mutating func reset() {
        first = nil
        last = nil
        isTrusted = false
    }

    /// Takes `now()` of a snapshot. Returns the size of a step forward, or nil.
    ///
    /// - Parameters:
    ///   - sent: The time before the snapshot was asked for.
    ///   - lease: The longest lease of the nodes.
    mutating func observe(
        _ databaseTime: Duration, sent: MonotonicTime, received: MonotonicTime, lease: Duration, policy: ClusterPolicy
    ) -> Duration? {
        let observation = Observation(databaseTime: databaseTime, sent: sent, received: received)
        // An answer that took long shows the clock as it was at an unknown time.
        guard received - sent <= policy.maxSnapshotTime else {
            isTrusted = false
            return nil
        }
        guard let first, let last else {
            restart(with: observation)
            return nil
        }
        let passedThere = databaseTime - last.databaseTime
        // The longest time that may have passed at the database between the two.
        let passedHere = received - last.sent
        let step = passedThere - passedHere * policy.clockRatio
        if step > policy.margin / 4 {
            restart(with: observation)
            return step
        }
        // A pause is too long for a step to be noticed, and a clock that goes back is not believed either.
        if passedHere > lease || passedThere < .zero {
            restart(with: observation)
            return nil
        }
        self.last = observation
        isTrusted = databaseTime - first.databaseTime >= lease && sent - first.received >= lease
        return nil
    }

    private mutating func restart(with observation: Observation) {
        first = observation
        last = observation
        isTrusted = false
    }
}
