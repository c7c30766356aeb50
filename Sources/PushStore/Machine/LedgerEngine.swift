package import PushModel
package import PushTime

/// A ledger as the server composes it: the ports of the pipeline, and what opens, trims, watches and closes them.
package protocol LedgerEngine: Ledger, EventLog, ReceiptLog {
    var identities: Identities { get }
    /// The state as of the last committed group. To read it does not wait for the store.
    var latest: LedgerStatus { get }

    /// Sets the witness, which is notified of everything from now on.
    func start(_ witness: any LedgerWitness) async

    /// Returns the number of unfinished messages of an app as of the last committed group.
    func backlog(of app: AppID) -> AppBacklog

    /// Stores that an app is paused since `time`, or that it continues. Calls `reply` after this is stored, or with the
    /// fault.
    func setPaused(_ app: AppID, since time: WallTime?, reply: @escaping @Sendable (LedgerFault?) -> Void)

    /// Sets for how long data is kept, and begins to remove what is older with the next call of ``trim()``.
    func keep(_ retention: LedgerRetention)

    /// Removes expired data. Call this regularly.
    func trim()

    /// Returns when all earlier calls are stored or have failed.
    func flush() async

    func status() async -> LedgerStatus

    /// Stores what was handed in, and closes the connections or files.
    func close() async
}
