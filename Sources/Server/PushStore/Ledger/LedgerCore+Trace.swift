/// Storage of trace runs: in pieces, each in the transaction of a group. They need no sync of their own, and delay no
/// group for long.
extension LedgerCore {
    private static let blocksAtOnce = 48

    /// A trace run that is being stored. It becomes valid with its row in `trace_runs`, which is written last. Blocks
    /// without such a row are overwritten by the next attempt.
    struct Tracing {
        let run: TraceRun
        var blocks = 0
        var isStored = false
    }

    /// Stores the next blocks in the current transaction. Returns the state that `tracing` has after the commit.
    ///
    /// - Parameter first: The number of the first event of the transaction's group.
    func storeTrace(before first: UInt64) throws(StoreError) -> Tracing? {
        guard var tracing else { return nil }
        let end = min(tracing.blocks + Self.blocksAtOnce, tracing.run.blockCount)
        while tracing.blocks < end {
            statements.addTraceBlock.bind(1, tracing.run.first + UInt64(tracing.blocks))
            statements.addTraceBlock.bind(2, tracing.run.block(tracing.blocks))
            try statements.addTraceBlock.run()
            tracing.blocks += 1
        }
        guard end == tracing.run.blockCount else { return tracing }
        let add = statements.addTraceRun
        add.bind(1, tracing.run.first)
        add.bind(2, tracing.run.last)
        add.bind(3, tracing.run.lows)
        add.bind(4, tracing.run.rowNumbers)
        try add.run()
        try LogSize(oldest: oldest, last: first - 1, bytes: logBytes).store(statements.setLogSize)
        tracing.isStored = true
        return tracing
    }

    /// Stores the size of the log when the ledger is closed.
    func storeLogSize() throws(StoreError) {
        guard fault == nil, files.fault == nil, machine.writer.next > oldest else { return }
        try statements.begin.run()
        try LogSize(oldest: oldest, last: machine.writer.next - 1, bytes: logBytes).store(statements.setLogSize)
        try statements.commit.run()
    }

    func committed(_ tracing: Tracing?) {
        guard let tracing else { return }
        self.tracing = tracing.isStored ? nil : tracing
        if tracing.isStored { traced = tracing.run.last }
    }

    /// The last event that is part of a run or was trimmed.
    var untraced: UInt64 { max(traced, oldest - min(oldest, 1)) }

    /// Removes the runs whose log rows have all been trimmed.
    func trimTraces(before oldest: UInt64) throws(StoreError) {
        while true {
            let row = statements.oldestTrace
            defer { row.reset() }
            guard try row.step(), row.word(1) < oldest else { return }
            let (first, last) = (row.word(0), row.word(1))
            row.reset()
            statements.removeTraceBlocks.bind(1, last)
            try statements.removeTraceBlocks.run()
            statements.removeTraceRun.bind(1, first)
            try statements.removeTraceRun.run()
        }
    }

    func readTraces() throws(StoreError) {
        // A damaged row may have any number. The next run starts after the newest run whose last event is that of a row
        // of the log, and replaces those that begin where it does.
        let newest = try connection.prepare(
            """
            SELECT last FROM trace_runs AS run WHERE last < ? AND first <= last AND EXISTS (
                SELECT 1 FROM log WHERE first = (SELECT max(first) FROM log WHERE first <= run.last)
                    AND first + count - 1 = run.last)
            ORDER BY first DESC LIMIT 1
            """)
        newest.bind(1, machine.writer.next)
        traced = try newest.step() ? newest.word(0) : 0
    }
}
