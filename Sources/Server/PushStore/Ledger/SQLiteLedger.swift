package import PushLoop
package import PushModel
import PushTime
package import PushWire

/// The ledger in one SQLite database. A thread of its own commits in groups: while one group is synced to disk, the
/// next one collects. A busy ledger therefore syncs once for hundreds of calls, and an idle one commits each call at
/// once.
///
/// The behavior in case of failures:
/// - The disk is full or fails: requests are answered `failed`. Outcomes of deliveries are kept in memory and written
///   when the disk accepts writes again. The witness is notified of both changes. While more than
///   `LedgerCore.retainedLimit` outcomes are in memory, no messages are loaded and no devices claimed.
/// - The process is killed or the power fails: everything that was answered is on disk. The last group, which was not
///   answered, is there completely or not at all. Deliveries whose outcomes were not yet synced, a group or two of
///   them, are sent again.
/// - The directory is missing or not writable, the file is damaged or was written by a newer version: `open` throws an
///   error that names the cause.
/// - A message or segment is damaged: reading it reports an error that names it; all others stay readable.
/// - The clock is set back: event numbers still ascend and nothing is sent again; the times of new events are earlier.
///   Rows that were written while the clock was ahead age from a day later on, if the clock is still behind them then.
/// - A file loses its name or belongs to another directory: nothing is written, as on a full disk, until it is back.
/// - Transactions of the write-ahead log are lost behind a damaged place: their numbers are left out.
package final class SQLiteLedger: LedgerEngine, Sendable {
    package struct Settings: Sendable {
        package var directory: String
        package var retention = LedgerRetention()
        package var clock: @Sendable () -> WallTime = { .current() }
        /// The monotonic clock, which shows when the wall clock jumps.
        package var steadyClock: @Sendable () -> MonotonicTime = { .current() }
        /// The size of the write-ahead log, in pages of 8 KiB, at which another thread begins to copy it into the
        /// database. At one and a half times this size the writer copies the rest itself, so that the log has no more
        /// than one group above that: 36 MiB and a group. A reader that takes long, such as a backup, can keep it from
        /// restarting: the writer waits for it briefly, and again whenever the log has grown by half this size.
        package var checkpointPages = 3072
        /// Called on the writing thread with the duration of each commit, from the start of the transaction to the end
        /// of the sync.
        package var committed: @Sendable (Duration) -> Void = { _ in }
        /// Called on the writing thread when events are dropped because writes fail for too long: with their number so
        /// far when the first ones are dropped, and with the number of all of them when writes succeed again or the
        /// ledger closes.
        package var eventsDropped: @Sendable (UInt64) -> Void = { _ in }
        /// Called on the reading thread with the name of a part of the index of the log that is damaged, once for each
        /// part. Look-ups read the log instead.
        package var indexDamaged: @Sendable (String) -> Void = { _ in }
        /// The open files of the directory, to which the ledger adds its own.
        package var files = OpenedFiles()
        /// A number that the ledger had reached, if files other than the registry know one.
        package var reached: UInt64 = 0
        /// Called on the writing thread while the ledger is opened, if events are missing at its end.
        package var eventsMissing: @Sendable (MissingEvents) -> Void = { _ in }

        package init(directory: String) {
            self.directory = directory
        }

        var path: String { "\(directory)/ledger.db" }
        /// The number of bytes that the log file keeps when it restarts: those of its usual size, because a sync takes
        /// less time when the file does not grow. Each page has a header of 24 bytes there.
        var logLimit: Int { SQLiteLedger.fullLog(max(1, checkpointPages)) * (8192 + 24) + 32 }
    }

    private struct Inbox: Sendable {
        var work: [LedgerWork] = []
        /// The weight of each work.
        var weights: [Int] = []
        var isScheduled = false
        var isClosed = false
    }

    package let identities: Identities
    package let activityWaits: SharedActivityWaits
    /// The newest event number when the ledger was opened.
    package let newestAtOpen: UInt64
    /// The newest event number of each topic when the ledger was opened.
    package let headsAtOpen: [LogWriter.Head]
    private let writing: BlockingExecutor
    let reading: BlockingExecutor
    private let inbox = Locked(Inbox())
    private let core: Confined<LedgerCore>
    let reader: Confined<LedgerReader>
    private let progress: Confined<Progress>
    private let retention: Locked<LedgerRetention>
    private let checkpointPages: Int
    /// Held by the thread that runs a checkpoint. SQLite would refuse a second one at once, without waiting.
    private let checkpointing = Locked(())
    private let published: Locked<PublishedLedger>

    /// State that only the writing thread uses.
    private final class Progress {
        var lastWeight = 0
        var lastEnd = MonotonicTime(nanoseconds: 0)
        var isCheckpointing = false
        /// The size of the write-ahead log when the last checkpoint began.
        var pagesAtCheckpoint = 0
        /// The size of the write-ahead log when the writer last waited for readers.
        var pagesAtWait = 0
        var isTracing = false
    }

    // MARK: Open and close

    /// Opens or creates the database and loads what the ledger remembers. Call ``start(_:)`` before handing in work:
    /// without a witness, accepted messages are not reported.
    package static func open(_ settings: Settings) async throws -> (SQLiteLedger, LedgerBacklog) {
        let writing = BlockingExecutor(name: "ledger")
        let reading = BlockingExecutor(name: "ledger-read")
        do {
            let (core, known, backlog) = try await writing.run {
                PrivateFile.prepare(settings.path)
                let (core, backlog) = try LedgerCore.open(settings)
                let known = Known(core.machine.identities, core.machine.writer, core.machine.activityWaits)
                return (Confined(core), known, backlog)
            }
            let reader = try await reading.run {
                Confined(try LedgerReader(settings.path, indexDamaged: settings.indexDamaged))
            }
            return (SQLiteLedger(writing, reading, core, reader, known, settings), backlog)
        } catch {
            await writing.shutDown()
            await reading.shutDown()
            throw error
        }
    }

    /// Values of the core at the time of opening that other threads may read.
    private struct Known: Sendable {
        let identities: Identities
        let newest: UInt64
        let heads: [LogWriter.Head]

        let activityWaits: SharedActivityWaits

        init(_ identities: Identities, _ writer: LogWriter, _ activityWaits: SharedActivityWaits) {
            self.identities = identities
            self.activityWaits = activityWaits
            newest = writer.next - 1
            heads = writer.topics
        }
    }

    private init(
        _ writing: BlockingExecutor, _ reading: BlockingExecutor, _ core: Confined<LedgerCore>,
        _ reader: Confined<LedgerReader>, _ known: Known, _ settings: Settings
    ) {
        self.writing = writing
        self.reading = reading
        self.core = core
        self.reader = reader
        (identities, activityWaits) = (known.identities, known.activityWaits)
        newestAtOpen = known.newest
        headsAtOpen = known.heads
        retention = Locked(settings.retention)
        checkpointPages = max(1, settings.checkpointPages)
        published = core.value.published
        progress = Confined(Progress())
    }

    /// Sets the witness, which is notified of everything from now on.
    package func start(_ witness: any LedgerWitness) async {
        await writing.run { [core] in core.value.witness = witness }
    }

    package func keep(_ retention: LedgerRetention) {
        self.retention.withLock { $0 = retention }
    }

    /// Returns the number of unfinished messages of an app as of the last committed group. It does not wait, and any
    /// thread may call it.
    package func backlog(of app: AppID) -> AppBacklog { published.withLock { $0.backlogs[app] } }

    package func projectedBacklog(of app: AppID) -> AppBacklog { backlog(of: app) }

    /// The state as of the last committed group. To read it does not wait for the writing thread, which may hang with
    /// the disk. The sizes are at most a second old.
    package var latest: LedgerStatus { published.withLock { $0 }.latest }

    package func busyTime(at now: MonotonicTime) -> Duration { published.withLock { $0 }.busyTime(at: now) }

    package func heads() -> [LogHeads] {
        [LogHeads(part: PartitionID(remainder: 0, of: 1), newest: newestAtOpen, topics: headsAtOpen)]
    }

    /// Removes expired data. Call this regularly.
    package func trim() {
        add(.trim(retention.withLock { $0 }))
    }

    /// Returns when all earlier calls are committed or have failed.
    package func flush() async {
        await unlessClosed(on: writing) {}
    }

    package func beginEnd() {
        _ = writing.executeUnlessStopped { [core] in core.valueUnlessClosed?.isEnding = true }
    }

    /// Commits what was handed in and closes the files. Later calls are refused, since other tasks may still call the
    /// ledger while the process shuts down.
    ///
    /// If the disk still fails, the retained outcomes are lost: their deliveries count as not done when the ledger is
    /// opened again. Accepted messages are never lost, because a request is answered only after its commit.
    package func close() async {
        await writing.run { [self] in
            let work = inbox.withLock { inbox in
                inbox.isClosed = true
                inbox.weights = []
                return exchange(&inbox.work, with: [])
            }
            core.value.process(work[...])
            try? core.value.storeLogSize()
            try? core.value.connection.checkpoint(.passive)
            core.value.witness = nil
            core.value.dropNotes()
            core.value.machine.refuseCancels()
            core.clear()
        }
        // A checkpoint may still run here. The work that it then queues on the writing thread finds the core cleared.
        await reading.run { [reader] in reader.clear() }
        await writing.shutDown()
        await reading.shutDown()
    }

    package func status() async -> LedgerStatus {
        let status: LedgerStatus? = await unlessClosed(on: writing) { [core] in
            guard let core = core.valueUnlessClosed else { return nil }
            var status = core.status(keyBytes: core.machine.dedupe.byteCount)
            status.apps = core.machine.backlog.byApp
            return status
        }
        return status ?? LedgerStatus()
    }

    package func age() async -> WallTime? {
        await unlessClosed(on: writing) { [core] in
            core.valueUnlessClosed.map { core in core.age(at: core.clock()).time }
        }
    }

    /// Runs `work` on an executor. Returns nil if the executor has stopped.
    func unlessClosed<Result: Sendable>(
        on executor: BlockingExecutor, _ work: @escaping @Sendable () -> Result?
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            let isTaken = executor.executeUnlessStopped { continuation.resume(returning: work()) }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    // MARK: Calls

    package func add(_ work: LedgerWork) {
        let weight = work.weight
        let isTaken = inbox.withLock { inbox in
            if inbox.isClosed { return false }
            inbox.work.append(work)
            inbox.weights.append(weight)
            let isFirst = exchange(&inbox.isScheduled, with: true) == false
            // Keep the lock: as soon as it is released, the ledger may be closed and its thread may be gone.
            if isFirst { writing.execute { self.drain() } }
            return true
        }
        if !isTaken { work.refuse(LedgerFault("the ledger is closed")) }
    }

    // MARK: The writing thread

    /// The weight from which on a group is committed without waiting for more.
    private static let worthwhile = 256
    /// The number of microseconds that a busy ledger waits for a group to reach that weight.
    private static let patience: UInt32 = 1500
    private static let retryPause: UInt32 = 100_000
    /// The number of milliseconds that the writer waits for readers that keep the write-ahead log from restarting.
    private static let readerPatience: CInt = 100

    /// The maximum weight of a group. Without it, callers would wait until a backlog of a minute is synced as a whole.
    private static let groupLimit = 8192

    private func drain() {
        // The ledger was closed in the meantime.
        guard let core = core.valueUnlessClosed else { return }
        let progress = progress.value
        defer { published.withLock { $0.busySince = nil } }
        // Under load a short wait collects more calls for each sync. An idle ledger does not wait.
        if progress.lastWeight >= 32, MonotonicTime.current() - progress.lastEnd < .milliseconds(1),
            inbox.withLock({ $0.weights.reduce(0, +) }) < Self.worthwhile
        {
            BlockingExecutor.sleep(microseconds: Self.patience)
        }
        let (work, weights) = inbox.withLock { inbox in
            inbox.isScheduled = false
            return (exchange(&inbox.work, with: []), exchange(&inbox.weights, with: []))
        }
        var rest = work[...]
        while !rest.isEmpty || core.fault != nil {
            let group = rest.prefix(Self.groupLength(of: weights[rest.startIndex...]))
            rest = rest[group.endIndex...]
            published.withLock { $0.busySince = .current() }
            if core.process(group) { trim() }
            progress.lastEnd = .current()
            if core.fault != nil, rest.isEmpty { break }
            checkpointIfDue(core, progress)
        }
        traceIfDue(core, progress)
        progress.lastWeight = weights.reduce(0, +)
        if core.fault != nil { tryAgain(core) }
    }

    /// Returns how many of the works with these weights are committed together.
    private static func groupLength(of weights: ArraySlice<Int>) -> Int {
        var sum = 0
        return weights.prefix { weight in
            defer { sum += weight }
            return sum < groupLimit
        }.count
    }

    /// Schedules another write after a pause. This repeats until the disk accepts the retained data.
    private func tryAgain(_ core: LedgerCore) {
        // A checkpoint lets the log restart, which may free enough space.
        try? core.connection.checkpoint(.passive)
        BlockingExecutor.sleep(microseconds: Self.retryPause)
        let isFirst = inbox.withLock { exchange(&$0.isScheduled, with: true) == false }
        if isFirst { writing.execute { self.drain() } }
    }

    /// Builds the next trace run from the events since the last one. The reading thread reads and sorts them.
    private func traceIfDue(_ core: LedgerCore, _ progress: Progress) {
        guard !progress.isTracing, core.tracing == nil,
            core.machine.writer.next > core.untraced &+ TraceRun.length
        else { return }
        progress.isTracing = true
        let last = core.untraced
        reading.execute { [self] in
            let run = try? reader.value.traces.build(after: last)
            writing.execute { [self] in
                self.progress.value.isTracing = false
                if let run { self.core.valueUnlessClosed?.tracing = LedgerCore.Tracing(run: run) }
            }
        }
    }

    /// The number of pages at which the writer copies the write-ahead log itself.
    private static func fullLog(_ checkpointPages: Int) -> Int { checkpointPages + (checkpointPages + 1) / 2 }

    /// Starts a checkpoint on the reading thread when the write-ahead log is large. The log restarts with the next
    /// commit that finds all pages copied and no reader in it. Writing that is faster than copying could prevent that
    /// forever. Therefore, when the log is full, the writer waits for that thread, copies the rest, and waits for
    /// readers for a moment, and again whenever the log has grown by half of `checkpointPages`.
    private func checkpointIfDue(_ core: LedgerCore, _ progress: Progress) {
        let pages = core.connection.logPages
        if pages < progress.pagesAtCheckpoint { (progress.pagesAtCheckpoint, progress.pagesAtWait) = (0, 0) }
        guard pages >= checkpointPages else { return }
        if pages >= Self.fullLog(checkpointPages), pages - progress.pagesAtWait >= (checkpointPages + 1) / 2 {
            (progress.pagesAtCheckpoint, progress.pagesAtWait) = (pages, pages)
            checkpointing.withLock { _ in try? core.connection.checkpoint(.restart, patience: Self.readerPatience) }
            return
        }
        guard !progress.isCheckpointing, pages - progress.pagesAtCheckpoint >= (checkpointPages + 3) / 4 else { return }
        progress.isCheckpointing = true
        progress.pagesAtCheckpoint = pages
        reading.execute { [self] in
            checkpointing.withLock { _ in reader.valueUnlessClosed?.checkpoint() }
            writing.execute { [self] in
                // Few pages were written in the meantime. Copying them as well lets the log restart.
                try? self.core.valueUnlessClosed?.connection.checkpoint(.passive)
                self.progress.value.isCheckpointing = false
            }
        }
    }
}

/// A reference that is passed between threads but dereferenced on one thread only.
final class Confined<Value: AnyObject>: @unchecked Sendable {
    // Unchecked: the owner reads the value on its own thread only.
    private var held: Value?

    init(_ value: Value) {
        held = value
    }

    var value: Value {
        guard let held else { preconditionFailure("the ledger is closed") }
        return held
    }

    var valueUnlessClosed: Value? { held }

    func clear() { held = nil }
}
