/// What the router counts.
struct RouterCounts {
    /// The messages that are accepted, not scheduled and not done, with those whose numbers are stale.
    var queued = 0
    /// The apps whose waiting messages are being dropped.
    var droppedApps = 0
    /// The messages that the ledger could not read.
    var damaged: UInt64 = 0
    /// The reports about deliveries that are not at a gateway.
    var surplus = 0
    /// The records of the last tick.
    var lastRecords = 0
}
