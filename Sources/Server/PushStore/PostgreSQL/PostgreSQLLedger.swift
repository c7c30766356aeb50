import PushLogic
package import PushLoop
package import PushModel
package import PushPostgreSQL
package import PushTime
package import PushWire

/// The ledger of a cluster, in PostgreSQL: each part of it has one owner, which decides in memory and writes with its
/// epoch, so that what it acknowledges is on the primary and on a synchronous standby.
package final class PostgreSQLLedger: LedgerEngine, Sendable {
    package struct Settings: Sendable {
        package var options: PostgreSQLOptions
        package var session = PostgreSQLSession.Settings()
        package var node = "node"
        package var retention = LedgerRetention()
        /// The time of the database.
        package var clock: @Sendable () -> WallTime = { .current() }
        /// The time that passes, also while the machine is suspended.
        package var steadyClock: @Sendable () -> MonotonicTime = { .sinceBoot() }
        /// Called with a reading of the database's clock before the first use of `clock`.
        package var clockRead: @Sendable (ClockReading) -> Void = { _ in }
        /// The time after which a flush that is not answered counts as a fault: requests are then refused at once.
        package var patience: Duration = .seconds(1)
        /// The number of connections that write. Each has one flush under way.
        package var writers = 2
        package var resolver: PostgreSQLSession.Resolver
        package var retryDelay: @Sendable (Int) -> Duration = { .milliseconds(min(50 << min($0, 6), 2000)) }
        /// The right to send, which follows the lease of the node. After its end another node may have taken the parts.
        package var permit = SendingPermit()
        /// Called on the ledger's loop with the duration of each flush.
        package var committed: @Sendable (Duration) -> Void = { _ in }
        /// Called on the ledger's loop when a write found another epoch of a part than the given one: another node has
        /// taken the part. The ledger has forgotten it.
        package var lost: @Sendable (PartitionID, PartitionEpoch) -> Void = { _, _ in }
        /// Called on the ledger's loop when a write came too late for some parts, which other nodes have taken: with their
        /// number. Nothing of them was stored.
        package var refusedLate: @Sendable (Int) -> Void = { _ in }
        /// Called on the ledger's loop when events are dropped because writes fail for too long: with their number so
        /// far when the first ones are dropped, and with the number of all of them when writes succeed again or the
        /// ledger closes.
        package var eventsDropped: @Sendable (UInt64) -> Void = { _ in }
        /// Called on the ledger's loop about once a second, with what the nodes share.
        package var sharedRead: @Sendable (SharedApps) -> Void = { _ in }
        /// Called on the ledger's loop with failed attempts to connect.
        package var failed: @Sendable (String) -> Void = { _ in }

        package init(_ options: PostgreSQLOptions, resolver: @escaping PostgreSQLSession.Resolver) {
            self.options = options
            self.resolver = resolver
        }
    }

    private struct Inbox: Sendable {
        var work: [LedgerWork] = []
        /// Work of the cluster, each with the number of calls that come before it.
        var orders: [(place: Int, run: @Sendable (PostgreSQLCore) -> Void)] = []
        var isScheduled = false
        var isClosed = false
    }

    package let identities: Identities
    package let activityWaits: SharedActivityWaits
    /// How messages are assigned to parts.
    package let map: PartitionMap
    private let gate: LoopGate
    private let inbox = Locked(Inbox())
    let core: LoopBound<PostgreSQLCore>
    private let sessions: LoopBound<[PostgreSQLSession]>
    /// The session that reads the log.
    let call: StoreCall
    let sentReader: SentReader
    private let watcher: LoopBound<TimerHandle>
    private let retention: Locked<LedgerRetention>
    private let published: Locked<PublishedLedger>
    /// The numbers of connections that operators had set when the ledger was opened.
    package let scalesAtOpen: [SharedScale]

    init(
        _ core: LoopBound<PostgreSQLCore>, _ sessions: LoopBound<[PostgreSQLSession]>, gate: LoopGate, call: StoreCall,
        _ store: StoreTables.Facts, watcher: LoopBound<TimerHandle>, retention: LedgerRetention,
        published: Locked<PublishedLedger>, scales: [SharedScale]
    ) {
        scalesAtOpen = scales
        self.retention = Locked(retention)
        self.published = published
        activityWaits = published.withLock { $0.activityWaits }
        self.call = call
        sentReader = SentReader(call, parts: store.map.count)
        self.core = core
        self.sessions = sessions
        (identities, map) = (store.identities, store.map)
        self.watcher = watcher
        self.gate = gate
    }

    /// Sets the witness, which is notified of everything from now on.
    package func start(_ witness: any LedgerWitness) async {
        _ = await gate.run { [core] in core.wrapped.witness = witness }
    }

    package func flush() async {
        while await gate.run({ [core] in !core.wrapped.isSettled }) == true || inbox.withLock({ !$0.work.isEmpty }) {
            await pause(.milliseconds(1))
        }
    }

    package func keep(_ retention: LedgerRetention) { self.retention.withLock { $0 = retention } }

    package func trim() { add(.trim(retention.withLock { $0 })) }

    package var latest: LedgerStatus { published.withLock { $0 }.latest }

    package var partCount: Int { published.withLock { $0.partCount } }

    package func backlog(of app: AppID) -> AppBacklog { published.withLock { $0.backlogs[app] } }

    package func projectedBacklog(of app: AppID) -> AppBacklog {
        published.withLock { $0.backlogs[app].projected(from: $0.heads.count, to: $0.partCount) }
    }

    package func heads() -> [LogHeads] {
        published.withLock { $0.heads }.sorted { $0.key < $1.key }.map(\.value)
    }

    package func busyTime(at now: MonotonicTime) -> Duration { published.withLock { $0 }.busyTime(at: now) }

    /// The parts that this node carries out.
    package var openParts: [OpenPart] {
        published.withLock { published in
            published.heads.compactMap { number, heads in
                published.epochs[number].map { OpenPart(part: number, epoch: $0, newest: heads.newest) }
            }
        }
    }

    /// The number of events of operators that wait for the owner of a part.
    package var waitingOperations: Int { published.withLock { $0.waitingOperations } }

    /// Whether this node carries out a part.
    package var servesParts: Bool { published.withLock { !$0.heads.isEmpty } }

    package func beginEnd() { _ = gate.execute { [core] in core.wrapped.beginEnd() } }

    package func status() async -> LedgerStatus { await gate.run { [core] in core.wrapped.status() } ?? latest }

    package func age() async -> WallTime? { await gate.run { [core] in core.wrapped.age() } }

    private func pause(_ time: Duration) async {
        await withCheckedContinuation { continuation in
            let isTaken = gate.execute { [gate] in gate.loop.schedule(after: time) { continuation.resume() } }
            if !isTaken { continuation.resume() }
        }
    }

    package func close() async { await close(within: .seconds(5)) }

    /// Stores what was handed in, as far as the database answers within the given time, and closes the connections.
    package func close(within limit: Duration) async {
        if inbox.withLock({ exchange(&$0.isClosed, with: true) }) { return }
        let deadline = await gate.run { [gate] in gate.loop.now + limit }
        while await gate.run({ [core] in !core.wrapped.isSettled && core.loop.now < deadline ?? core.loop.now }) == true
        {
            await pause(.milliseconds(5))
        }
        await core.with { $0.close() }
        await watcher.with { [gate] in gate.loop.cancel($0) }
        await sessions.with { for session in $0 { session.stop() } }
        if gate.close() { await gate.loop.shutDown() }
    }

    // MARK: Calls

    package func add(_ work: LedgerWork) {
        let isTaken = inbox.withLock { inbox in
            if inbox.isClosed { return false }
            inbox.work.append(work)
            if !exchange(&inbox.isScheduled, with: true) { _ = gate.execute { self.drain() } }
            return true
        }
        if !isTaken { work.refuse(LedgerFault("the ledger is closed")) }
    }

    private func drain() {
        let (work, orders) = inbox.withLock { inbox in
            inbox.isScheduled = false
            return (exchange(&inbox.work, with: []), exchange(&inbox.orders, with: []))
        }
        let core = core.wrapped
        if orders.isEmpty { return core.take(work) }
        var rest = work[...]
        for order in orders {
            let count = order.place - rest.startIndex
            core.take(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
            order.run(core)
        }
        core.take(Array(rest))
    }

    /// Runs work of the cluster on the loop, after the calls that came before. Returns whether the ledger has taken it.
    func order(_ run: @escaping @Sendable (PostgreSQLCore) -> Void) -> Bool {
        inbox.withLock { inbox in
            if inbox.isClosed { return false }
            inbox.orders.append((inbox.work.count, run))
            if !exchange(&inbox.isScheduled, with: true) { _ = gate.execute { self.drain() } }
            return true
        }
    }
}

extension PostgreSQLLedger: PartitionHost {
    package func load(
        _ part: PartitionID, epoch: PartitionEpoch, reply: @escaping @Sendable (LedgerFault?) -> Void
    ) {
        let isTaken = order { $0.load(part.number, epoch: epoch.value, reply: reply) }
        if !isTaken { reply(LedgerFault("the ledger is closed")) }
    }

    package func serve(_ part: PartitionID, epoch: PartitionEpoch) {
        _ = order { $0.serve(part.number, epoch: epoch.value) }
    }

    package func drain(_ part: PartitionID, epoch: PartitionEpoch, reply: @escaping @Sendable () -> Void) {
        let isTaken = order { $0.drain(part.number, epoch: epoch.value, reply: reply) }
        if !isTaken { reply() }
    }

    package func stopSending() { _ = order { $0.stopSending() } }

    package func drop(_ part: PartitionID, epoch: PartitionEpoch) {
        _ = order { $0.drop(part.number, epoch: epoch.value) }
    }
}
