import PushTime

/// Up to where a node has read the changes of other nodes, and since when older ones need not be kept.
///
/// Transactions commit in another order than they begin, so that no number of a row marks the end of what was read. The
/// mark is a snapshot of the database: which transactions it contains. Those that it does not contain are read next.
struct FollowedChanges: Sendable {
    struct Position: Sendable {
        /// All transactions before this one had ended.
        let oldest: Int64
        /// No transaction from this one on had begun.
        let next: Int64
        /// Transactions between both that had not ended.
        let open: [Int64]
        /// When the snapshot was asked for.
        let time: MonotonicTime
        /// The number of the connection. After a crash or a promotion, the server may use numbers again that it had
        /// already given to transactions, and a snapshot of the time before says nothing.
        let opening: Int
    }

    /// The time for which changes are kept at least.
    static let keeps: Duration = .seconds(3600)
    /// A node that has read nothing for this long reads all inactive devices again.
    private static let limit: Duration = .seconds(1800)
    private static let sampleEvery: Duration = .seconds(60)

    private var position: Position?
    private var samples: [(time: MonotonicTime, oldest: Int64)] = []

    /// Returns the position if the changes since then can be read.
    func position(at now: MonotonicTime, opening: Int) -> Position? {
        guard let position, position.opening == opening, now - position.time < Self.limit else { return nil }
        return position
    }

    /// Takes over a position. Returns the transaction before which changes can be removed, once in a while: all nodes
    /// have had the time to read them, or read everything again.
    mutating func take(_ new: Position) -> Int64? {
        if position?.opening != new.opening { samples = [] }
        position = new
        guard samples.last.map({ new.time - $0.time >= Self.sampleEvery }) ?? true else { return nil }
        samples.append((new.time, new.oldest))
        var trimmed: Int64?
        while let first = samples.first, new.time - first.time >= Self.keeps {
            trimmed = first.oldest
            samples.removeFirst()
        }
        return trimmed
    }
}
