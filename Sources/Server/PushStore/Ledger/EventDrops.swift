/// The events that the ledger has dropped because writes failed for too long. Nothing on disk shows that they are missing,
/// because they have no numbers.
struct EventDrops {
    /// Called with the number of events since writes began to fail: when the first are dropped, and at the end.
    let report: @Sendable (UInt64) -> Void
    /// The number since the start.
    private(set) var total: UInt64 = 0
    /// The number since writes began to fail.
    private var current: UInt64 = 0
    private var reported: UInt64 = 0

    init(report: @escaping @Sendable (UInt64) -> Void) {
        self.report = report
    }

    mutating func add(_ count: Int) {
        guard count > 0 else { return }
        total &+= UInt64(count)
        current &+= UInt64(count)
        if reported == 0 { reportCurrent() }
    }

    /// Called when writes succeed again, or never will.
    mutating func end() {
        if current != reported { reportCurrent() }
        (current, reported) = (0, 0)
    }

    private mutating func reportCurrent() {
        reported = current
        report(current)
    }
}
