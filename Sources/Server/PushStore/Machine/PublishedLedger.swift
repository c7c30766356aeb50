import PushTime

/// The state of the ledger that other threads read without waiting for its thread, which may hang with the disk.
struct PublishedLedger: Sendable {
    /// The state as of the last commit, without the backlogs of the apps.
    var status = LedgerStatus()
    var backlogs = AppBacklogs()
    /// The number of parts of the whole log.
    var partCount = 1
    /// The time at which the engine began the oldest group that it works on; nil while it has no work.
    var busySince: MonotonicTime?
    /// The last numbers of the open parts, by part. Only an engine with parts that open and close has them here.
    private(set) var heads: [Int: LogHeads] = [:]
    /// The epochs of the open parts of a cluster.
    private(set) var epochs: [Int: Int64] = [:]
    /// The rows of events of operators in a cluster that were not published when they were read last, and those that this
    /// node has added since.
    var waitingOperations = 0
    let activityWaits = SharedActivityWaits()

    mutating func open(_ part: Int, _ heads: LogHeads, epoch: Int64) {
        (self.heads[part], epochs[part]) = (heads, epoch)
        activityWaits.setShare(self.heads.count, of: partCount)
    }

    mutating func close(_ part: Int) {
        (heads[part], epochs[part]) = (nil, nil)
        activityWaits.setShare(heads.count, of: partCount)
    }

    /// Returns how long the engine has worked on that group.
    func busyTime(at now: MonotonicTime) -> Duration { busySince.map { max(.zero, now - $0) } ?? .zero }

    /// The state with the backlogs of the apps.
    var latest: LedgerStatus {
        var status = status
        status.apps = backlogs.byApp
        return status
    }
}
