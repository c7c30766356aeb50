import PushModel
import PushTime

/// The notifications of stores. The id and the event of one are committed together, so that a crash leaves both or
/// neither, and the store's next attempt finds what is true.
extension LedgerCore {
    /// Removes ids that are older than the window, and returns whether there may be more.
    func trimReceipts(_ limit: Int, at age: WallTime) throws(StoreError) -> Bool {
        try statements.begin.run()
        let remove = statements.removeReceipts
        remove.bind(1, age - LedgerRetention.receiptWindow)
        remove.bind(2, Int64(limit))
        var removed = 0
        while try remove.step() { removed += 1 }
        remove.reset()
        try statements.commit.run()
        return removed == limit
    }
}
