/// Runs of traces, stored in pieces with the groups that come by, so that they cost no sync of their own and delay none.
extension LedgerCore {
    private static let blocksAtOnce = 48

    /// A run on its way to the disk. It counts when its row is there, which comes last; blocks without one are
    /// overwritten by the next try.
    struct Tracing {
        let run: TraceRun
        var blocks = 0
        var isStored = false
    }

    /// In the transaction under way. What becomes of `tracing` when that is committed.
    func storeTrace() throws(StoreError) -> Tracing? {
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
        tracing.isStored = true
        return tracing
    }

    func committed(_ tracing: Tracing?) {
        guard let tracing else { return }
        self.tracing = tracing.isStored ? nil : tracing
        if tracing.isStored { traced = tracing.run.last }
    }

    /// The last event before those that are in no run yet.
    var untraced: UInt64 { max(traced, oldest - min(oldest, 1)) }

    /// A run goes with the last of its log rows.
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
        let newest = try connection.prepare("SELECT last FROM trace_runs ORDER BY first DESC LIMIT 1")
        // A number that cannot be is as good as none: traces are found by reading the log then.
        traced = try newest.step() ? min(newest.word(0), writer.next - 1) : 0
    }
}
