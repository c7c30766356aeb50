package import PushModel
package import PushTime

/// The state of a ledger, for metrics and operators.
package struct LedgerStatus: Sendable, Equatable {
    /// The newest number; in a cluster, the sum of the newest numbers of the parts of this node.
    package var newest: UInt64 = 0
    package var oldest: UInt64 = 0
    /// The time by which keys and events age (``AgeClock``), as of the last commit or trim; only of a ledger in a file.
    package var agedAt = WallTime.distantPast
    package var waiting = 0
    package var scheduled = 0
    package var messageKeys = 0
    package var deliveryKeys = 0
    package var keyBytes = 0
    package var logBytes: Int64 = 0
    /// The unfinished messages of each app that has any.
    package var apps: [AppID: AppBacklog] = [:]
    /// The number of remembered message ids and deliveries, which `LedgerRetention.keyLimit` bounds.
    package var remembered = 0
    /// The number of new messages that were refused because of that limit.
    package var refusedByLimit: UInt64 = 0
    /// The number of pages in the write-ahead log.
    package var writeAheadPages = 0
    /// The number of steps of statements on the writing thread.
    package var steps: UInt64 = 0
    package var commits = LedgerCommits()
    /// The number of events that were dropped because writes failed for too long.
    package var droppedEvents: UInt64 = 0
    package var fault: LedgerFault?

    package init() {}
}
