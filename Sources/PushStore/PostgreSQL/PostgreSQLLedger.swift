import PushLogic
import PushLoop
package import PushModel
package import PushPostgreSQL
package import PushTime
import PushWire

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
        /// The number of connections that write. Each has one flush under way.
        package var writers = 2
        package var resolver: PostgreSQLSession.Resolver
        package var retryDelay: @Sendable (Int) -> Duration = { .milliseconds(min(50 << min($0, 6), 2000)) }
        /// Called on the ledger's loop with the duration of each flush.
        package var committed: @Sendable (Duration) -> Void = { _ in }
        /// Called on the ledger's loop when another node has taken a part.
        package var lost: @Sendable (Int) -> Void = { _ in }
        /// Called on the ledger's loop with failed attempts to connect.
        package var failed: @Sendable (String) -> Void = { _ in }

        package init(_ options: PostgreSQLOptions, resolver: @escaping PostgreSQLSession.Resolver) {
            self.options = options
            self.resolver = resolver
        }
    }

    private struct Inbox: Sendable {
        var work: [LedgerWork] = []
        var isScheduled = false
        var isClosed = false
    }

    package let identities: Identities
    private let gate: LoopGate
    private let inbox = Locked(Inbox())
    private let core: LoopBound<PostgreSQLCore>
    private let sessions: LoopBound<[PostgreSQLSession]>
    /// The session that reads.
    let call: StoreCall
    private let watcher: LoopBound<TimerHandle>
    private let retention: Locked<LedgerRetention>
    private let published: Locked<PublishedLedger>

    init(
        _ core: LoopBound<PostgreSQLCore>, _ sessions: LoopBound<[PostgreSQLSession]>, gate: LoopGate, call: StoreCall,
        identities: Identities,
        watcher: LoopBound<TimerHandle>, retention: LedgerRetention, published: Locked<PublishedLedger>
    ) {
        self.retention = Locked(retention)
        self.published = published
        self.call = call
        self.core = core
        self.sessions = sessions
        self.identities = identities
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

    package func backlog(of app: AppID) -> AppBacklog { published.withLock { $0.backlogs[app] } }

    package func heads() -> [LogHeads] {
        published.withLock { $0.heads }.sorted { $0.key < $1.key }.map(\.value)
    }

    package func busyTime(at now: MonotonicTime) -> Duration { published.withLock { $0 }.busyTime(at: now) }

    package func beginEnd() { _ = gate.execute { [core] in core.wrapped.beginEnd() } }

    package func status() async -> LedgerStatus { await gate.run { [core] in core.wrapped.status() } ?? latest }

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
        let work = inbox.withLock { inbox in
            inbox.isScheduled = false
            return exchange(&inbox.work, with: [])
        }
        core.wrapped.take(work)
    }
}
