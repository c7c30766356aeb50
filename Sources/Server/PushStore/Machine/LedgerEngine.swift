package import PushModel
package import PushTime

/// A ledger as the server composes it: the ports of the pipeline, and what opens, trims, watches and closes them.
package protocol LedgerEngine: Ledger, EventLog, ReceiptLog, SentDeliveries {
    var identities: Identities { get }
    /// The Live Activities for which messages wait and of which no address is known.
    var activityWaits: SharedActivityWaits { get }
    /// The state as of the last committed group. To read it does not wait for the store.
    var latest: LedgerStatus { get }

    /// Sets the witness, which is notified of everything from now on.
    func start(_ witness: any LedgerWitness) async

    /// Returns the number of unfinished messages of an app as of the last committed group, in the parts that this
    /// process carries out.
    func backlog(of app: AppID) -> AppBacklog

    /// Returns the number of unfinished messages of an app in the whole store. A process that carries out some parts of
    /// it concludes from these: messages are spread evenly.
    func projectedBacklog(of app: AppID) -> AppBacklog

    /// Returns the last numbers of each part that is open, as of its opening, in the order of the parts. Those of a part
    /// are there before the witness is notified of its opening. A ledger in files has one part.
    func heads() -> [LogHeads]

    /// Returns how long the engine has worked on its current group; zero while it has no work. More than a few seconds
    /// mean that the store does not answer.
    func busyTime(at now: MonotonicTime) -> Duration

    /// Queues a call for the ledger's own thread, or refuses it if the ledger is closed.
    func add(_ work: LedgerWork)

    /// Sets for how long data is kept, and begins to remove what is older with the next call of ``trim()``.
    func keep(_ retention: LedgerRetention)

    /// Removes expired data. Call this regularly.
    func trim()

    /// Returns when all earlier calls are stored or have failed.
    func flush() async

    func status() async -> LedgerStatus

    /// Returns the time by which stored data ages: that of the wall clock, but without its jumps ahead. Returns nil if the
    /// ledger is closed.
    func age() async -> WallTime?

    /// Notes an erasure before anything is changed. Returns the order to carry out: until it has ended, another one of the
    /// same user continues it, with the same pseudonym.
    func begin(_ erasure: UserErasure) async throws(LedgerFault) -> UserErasure

    /// Forgets a user in the stored messages, which ends the erasure. Returns the number of messages that named the user.
    func erase(_ erasure: UserErasure) async throws(LedgerFault) -> Int

    /// Prepares for ``close()``. From now on a caller of `note` no longer waits for a store that fails: it would wait
    /// forever, and nobody would be left to close the ledger.
    func beginEnd()

    /// Stores what was handed in, and closes the connections or files.
    func close() async
}

extension LedgerEngine {
    /// Returns the last numbers of an open part as of its opening; nil if it is not open.
    package func heads(of part: PartitionID) -> LogHeads? { heads().first { $0.part == part } }

    package func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        add(.accept(group, reply))
    }

    package func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        add(.record(deliveries, completed))
    }

    package func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) { add(.note(events, done)) }

    package func take(_ receipt: ReceivedReceipt, reply: @escaping @Sendable (ReceiptIntake) -> Void) {
        add(.receipt(receipt, reply))
    }

    package func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) {
        add(.cancel(requests, reply))
    }

    package func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) { add(.endCancels(cancels, claims)) }

    /// Stores that an app is paused since `time`, or that it continues. Calls `reply` after this is stored, or with the
    /// fault.
    package func setPaused(
        _ app: AppID, since time: WallTime?, reply: @escaping @Sendable (LedgerFault?) -> Void
    ) {
        add(.pause(app, time, reply))
    }

    package func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {
        add(.claim(pages, reply))
    }

    package func load(
        _ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void
    ) {
        add(.load(seqs, reply))
    }

    package func due(
        at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void
    ) {
        add(.due(time, limit, reply))
    }

    // MARK: Calls that wait

    package func setPaused(_ app: AppID, since time: WallTime?) async -> LedgerFault? {
        await withCheckedContinuation { continuation in
            setPaused(app, since: time) { continuation.resume(returning: $0) }
        }
    }

    package func load(_ seqs: [UInt64]) async -> Result<[AcceptedMessage], LedgerFault> {
        await withCheckedContinuation { continuation in load(seqs) { continuation.resume(returning: $0) } }
    }

    package func due(at time: UnixSeconds, limit: Int) async -> Result<DueMessages, LedgerFault> {
        await withCheckedContinuation { continuation in
            due(at: time, limit: limit) { continuation.resume(returning: $0) }
        }
    }
}
