import PushTime

/// The state of the ledger that other threads read without waiting for its thread, which may hang with the disk.
struct PublishedLedger: Sendable {
    /// The state as of the last commit, without the backlogs of the apps.
    var status = LedgerStatus()
    var backlogs = AppBacklogs()
    /// The time at which the writing thread began the group that it works on; nil while it has no work.
    var busySince: MonotonicTime?

    /// The state with the backlogs of the apps.
    var latest: LedgerStatus {
        var status = status
        status.apps = backlogs.byApp
        return status
    }
}
