/// The lease of a cluster, and the intervals that follow from it.
package struct ClusterPolicy: Sendable, Equatable {
    /// The shortest and the longest lease.
    package static let leases: ClosedRange<Duration> = .seconds(1) ... .seconds(300)

    /// The time for which a renewal holds, by the clock of the database. Values outside ``leases`` are clamped.
    package let lease: Duration
    /// The time that may pass between the stop of intake of a partition and its hand-over.
    package var drainWithin: Duration = .seconds(2)
    /// The number of partitions that are taken at a time, each in a transaction of its own.
    package var takesAtOnce = 4
    /// The number of partitions that a node which drains hands over at a time.
    package var handOversAtOnce = 4
    /// The delay after a failure to load a partition.
    package var loadAgain = Backoff(first: .milliseconds(200), maxDelay: .seconds(5))

    package init(lease: Duration = .seconds(5)) {
        self.lease = min(max(lease, Self.leases.lowerBound), Self.leases.upperBound)
    }

    /// The part of the lease in which a node does not send any more: one second, or a third of a lease shorter than
    /// three seconds. It covers the errors of two clocks: a node whose clock is slow, and a database whose clock steps
    /// forward.
    package var margin: Duration { lease < .seconds(3) ? lease / 3 : .seconds(1) }

    /// The time for which a node may send after it has sent a renewal, by its own clock.
    package var sendTime: Duration { lease - margin }

    /// The largest factor by which the clock of the database may run faster than that of a node: a node whose clock is
    /// slow by this factor stops exactly when its lease ends.
    package var clockRatio: Double { lease.inSeconds / sendTime.inSeconds }

    /// The interval of renewals and of reads of the tables.
    package var interval: Duration { lease / 3 }

    /// The delay after an operation of the database that failed.
    package var retryAfter: Duration { lease / 20 }

    /// The shortest time between two reads of the tables.
    package var minSnapshotInterval: Duration { lease / 50 }

    /// The time within which the shell reports the result of an operation: an operation without an answer is unknown.
    package var operationTimeout: Duration { lease / 4 }

    /// The time for which the nodes must be the same before partitions are moved for balance, so that a node that
    /// restarts keeps its share.
    package var settleTime: Duration { lease / 3 }

    /// The longest random delay between two moves for balance.
    package var moveJitter: Duration { lease / 20 }

    /// The time after which a partition without an owner is taken by any node, not only by the one that it is assigned
    /// to.
    package var orphanPatience: Duration { lease / 5 }

    /// The time after which a partition is taken whose owner is not in the table of nodes: twice its lease, for any clock.
    package var lostPatience: Duration { lease * 2 }

    /// The interval of reads of the tables while a partition has no owner.
    package var orphanInterval: Duration { lease / 15 }

    /// The longest time that a read of the tables may take if its time is to be compared with the clock of this node.
    package var maxSnapshotTime: Duration { margin / 8 }
}
