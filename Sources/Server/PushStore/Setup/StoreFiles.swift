/// Facts about the files of a single node.
package enum StoreFiles {
    /// The newest version of `ledger.db` that this program can read.
    package static var newestLedger: Int64 { LedgerSchema.version }
}
