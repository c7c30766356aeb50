/// The number and duration of the ledger's commits.
package struct LedgerCommits: Sendable, Equatable {
    package private(set) var count: UInt64 = 0
    /// The duration of all commits, each from the start of the transaction to the end of the sync.
    package private(set) var total: Duration = .zero
    /// The duration of the last commit.
    package private(set) var last: Duration = .zero

    mutating func add(_ time: Duration) {
        count += 1
        total += time
        last = time
    }
}
