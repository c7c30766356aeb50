package import PushLoop
package import PushModel
import PushTime
package import PushWire

/// The ledger on one SQLite database. A thread of its own writes in groups: while one group is synced the next one
/// gathers, so that a busy ledger syncs for hundreds at once and an idle one at once.
///
/// What it does when things go wrong:
/// - The disk is full or fails: requests are answered `failed`, what happened to deliveries is kept in memory and written
///   when there is room again, the witness is told of both. Past `LedgerCore.retainedLimit` nothing more is handed out.
/// - The process is killed or the power fails: all that was replied to is there; of the last group, which was not,
///   all or nothing is. Deliveries whose outcome was not synced, a group or two of them, are carried out again.
/// - A directory that is missing or may not be written to, a file that is damaged or of a newer version: `open` throws
///   and says which.
/// - A damaged message or segment is named when it is read; the others go on.
/// - The clock is set back: numbers go on, nothing is sent again, times in events go back with it. What was written while
///   it was ahead is kept for as long as if it had been written when that is noticed.
package final class SQLiteLedger: Ledger, Sendable {
    package struct Settings: Sendable {
        package var directory: String
        package var retention = LedgerRetention()
        package var clock: @Sendable () -> WallTime = { .current() }
        /// By which it is known that the other one jumps.
        package var steadyClock: @Sendable () -> MonotonicTime = { .current() }
        /// Pages of 8 KiB in the write-ahead log from which on they are copied into the database. While readers keep the
        /// log from beginning anew it grows; from four times as many on, commits wait for them.
        package var checkpointPages = 3072

        package init(directory: String) {
            self.directory = directory
        }

        var path: String { "\(directory)/ledger.db" }
        /// Bytes that the file of the log keeps when it begins anew: each page has a head of 24 bytes there.
        var logLimit: Int { max(1, checkpointPages) * (8192 + 24) + 32 }
    }

    package struct Status: Sendable, Equatable {
        package var newest: UInt64 = 0
        package var oldest: UInt64 = 0
        package var waiting = 0
        package var scheduled = 0
        package var messageKeys = 0
        package var deliveryKeys = 0
        package var keyBytes = 0
        package var logBytes: Int64 = 0
        /// The same by app, for those that have any.
        package var apps: [AppID: AppBacklog] = [:]
        /// Message ids and deliveries that are remembered, of which `LedgerRetention.keyLimit` is the bound.
        package var remembered = 0
        /// New messages that were refused because of that bound.
        package var refusedByLimit: UInt64 = 0
        /// Pages in the write-ahead log.
        package var writeAheadPages = 0
        /// How often the writing thread's statements were stepped.
        package var steps: UInt64 = 0
        package var commits = LedgerCommits()
        package var fault: LedgerFault?

        package init() {}
    }

    private struct Inbox: Sendable {
        var work: [LedgerWork] = []
        var weight = 0
        var isScheduled = false
        var isClosed = false
    }

    package let identities: Identities
    /// What the log ended with when it was opened: the newest number, and that of each topic.
    package let newestAtOpen: UInt64
    package let headsAtOpen: [LogWriter.Head]
    private let writing: BlockingExecutor
    let reading: BlockingExecutor
    private let inbox = Locked(Inbox())
    private let core: Confined<LedgerCore>
    let reader: Confined<LedgerReader>
    private let progress: Confined<Progress>
    private let retention: Locked<LedgerRetention>
    private let checkpointPages: Int
    private let backlogs: Locked<AppBacklogs>

    /// Of the writing thread.
    private final class Progress {
        var lastWeight = 0
        var lastEnd = MonotonicTime(nanoseconds: 0)
        var isCheckpointing = false
        /// Pages in the write-ahead log when it was last copied, and when a commit last waited for readers.
        var pagesAtCheckpoint = 0
        var pagesAtWait = 0
        var isTracing = false
    }

    // MARK: Open and close

    /// Opens it, or makes a new one, and reads what it remembers. Nothing is written before `start`.
    package static func open(_ settings: Settings) async throws -> (SQLiteLedger, LedgerBacklog) {
        let writing = BlockingExecutor(name: "ledger")
        let reading = BlockingExecutor(name: "ledger-read")
        do {
            let (core, known, backlog) = try await writing.run {
                PrivateFile.prepare(settings.path)
                let (core, backlog) = try LedgerCore.open(settings)
                return (Confined(core), Known(core.identities, core.writer), backlog)
            }
            let reader = try await reading.run { Confined(try LedgerReader(settings.path)) }
            return (SQLiteLedger(writing, reading, core, reader, known, settings), backlog)
        } catch {
            await writing.shutDown()
            await reading.shutDown()
            throw error
        }
    }

    /// What the core knew when it was opened, for other threads.
    private struct Known: Sendable {
        let identities: Identities
        let newest: UInt64
        let heads: [LogWriter.Head]

        init(_ identities: Identities, _ writer: LogWriter) {
            self.identities = identities
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
        identities = known.identities
        newestAtOpen = known.newest
        headsAtOpen = known.heads
        retention = Locked(settings.retention)
        checkpointPages = max(1, settings.checkpointPages)
        backlogs = core.value.published
        progress = Confined(Progress())
    }

    /// From now on the witness is told of everything.
    package func start(_ witness: any LedgerWitness) async {
        await writing.run { [core] in core.value.witness = witness }
    }

    package func keep(_ retention: LedgerRetention) {
        self.retention.withLock { $0 = retention }
    }

    /// How many messages of this app are not done, as of the last group that was written: at once, from any thread.
    package func backlog(of app: AppID) -> AppBacklog { backlogs.withLock { $0[app] } }

    /// Lets go of what is too old. To be called now and then.
    package func trim() {
        add(.trim(retention.withLock { $0 }))
    }

    /// Returns when what was handed in before is written, or refused by the disk.
    package func flush() async {
        await unlessClosed(on: writing) {}
    }

    /// It is going to be closed. From now on whoever waits for an event to be written does not wait for a disk that
    /// refuses: he would never end, and nobody would be left to close the ledger.
    package func beginEnd() {
        _ = writing.executeUnlessStopped { [core] in core.valueUnlessClosed?.isEnding = true }
    }

    /// Writes what it was given, and closes the files. What is handed in later is refused, and is not written: at the end
    /// there is always somebody who has not heard of it.
    ///
    /// If the disk refuses to the end, outcomes that were retained are lost: their deliveries count as not done when the
    /// ledger is opened again. Nobody was told that a request was accepted that is not there.
    package func close() async {
        await writing.run { [self] in
            let work = inbox.withLock { inbox in
                inbox.isClosed = true
                return exchange(&inbox.work, with: [])
            }
            core.value.process(work[...])
            try? core.value.connection.checkpoint(.passive)
            core.value.witness = nil
            for (_, done) in core.value.retained.notes { done?(nil) }
            core.clear()
        }
        // It may be taking over pages; what it then hands to the writing thread finds the files closed.
        await reading.run { [reader] in reader.clear() }
        await writing.shutDown()
        await reading.shutDown()
    }

    package func status() async -> Status {
        let status: Status? = await unlessClosed(on: writing) { [core] in
            guard let core = core.valueUnlessClosed else { return nil }
            var status = Status()
            status.newest = core.writer.next - 1
            status.oldest = core.oldest
            status.waiting = core.pending.count
            status.scheduled = core.scheduledCount
            status.apps = core.backlog.byApp
            status.messageKeys = core.messages.idCount
            status.deliveryKeys = core.deliveries.count
            status.remembered = core.rememberedCount
            status.refusedByLimit = core.refusedByLimit
            status.keyBytes = core.messages.byteCount + core.deliveries.byteCount + core.endedOnly.byteCount
            status.writeAheadPages = core.connection.logPages
            status.steps = core.connection.steps
            status.logBytes = core.logBytes
            status.commits = core.commits
            status.fault = core.fault
            return status
        }
        return status ?? Status()
    }

    /// Nil if that thread has ended.
    func unlessClosed<Result: Sendable>(
        on executor: BlockingExecutor, _ work: @escaping @Sendable () -> Result?
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            let isTaken = executor.executeUnlessStopped { continuation.resume(returning: work()) }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    // MARK: Ledger

    package func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        add(.accept(group, reply))
    }

    package func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        add(.record(deliveries, completed))
    }

    package func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {
        add(.note(events, done))
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
        at time: Int64, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void
    ) {
        add(.due(time, limit, reply))
    }

    private func add(_ work: LedgerWork) {
        let isTaken = inbox.withLock { inbox in
            if inbox.isClosed { return false }
            inbox.work.append(work)
            inbox.weight += work.weight
            let isFirst = exchange(&inbox.isScheduled, with: true) == false
            // Under the lock: once it is given back the ledger may be closed, and its thread gone.
            if isFirst { writing.execute { self.drain() } }
            return true
        }
        if !isTaken { work.refuse(LedgerFault("the ledger is closed")) }
    }

    // MARK: The writing thread

    /// A group this large was worth its sync.
    private static let worthwhile = 256
    /// How long a busy ledger waits for a group to become so.
    private static let patience: UInt32 = 1500
    private static let retryPause: UInt32 = 100_000
    /// How long, in milliseconds, a commit waits for readers that keep the write-ahead log from beginning anew.
    private static let readerPatience: CInt = 100

    /// Of what waits, so much goes into one group: those who wait for its sync do not wait for a minute's backlog.
    private static let groupLimit = 8192

    private func drain() {
        // Closed meanwhile.
        guard let core = core.valueUnlessClosed else { return }
        let progress = progress.value
        // Under load a moment's patience saves a sync for every few; an idle ledger is not patient.
        if progress.lastWeight >= 32, MonotonicTime.current() - progress.lastEnd < .milliseconds(1),
            inbox.withLock({ $0.weight }) < Self.worthwhile
        {
            BlockingExecutor.sleep(microseconds: Self.patience)
        }
        let (work, weight) = inbox.withLock { inbox in
            inbox.isScheduled = false
            let weight = inbox.weight
            inbox.weight = 0
            return (exchange(&inbox.work, with: []), weight)
        }
        var rest = work[...]
        while !rest.isEmpty || core.fault != nil {
            let group = Self.group(of: &rest)
            if core.process(group) { trim() }
            progress.lastEnd = .current()
            if core.fault != nil, rest.isEmpty { break }
            checkpointIfDue(core, progress)
        }
        traceIfDue(core, progress)
        progress.lastWeight = weight
        if core.fault != nil { tryAgain(core) }
    }

    private static func group(of rest: inout ArraySlice<LedgerWork>) -> ArraySlice<LedgerWork> {
        var weight = 0
        let group = rest.prefix { item in
            if weight >= groupLimit { return false }
            weight += item.weight
            return true
        }
        rest = rest[group.endIndex...]
        return group
    }

    /// The disk refuses: again after a pause, until it takes what there is.
    private func tryAgain(_ core: LedgerCore) {
        // A log that begins anew may be room enough.
        try? core.connection.checkpoint(.passive)
        BlockingExecutor.sleep(microseconds: Self.retryPause)
        let isFirst = inbox.withLock { exchange(&$0.isScheduled, with: true) == false }
        if isFirst { writing.execute { self.drain() } }
    }

    /// What was logged since the last run becomes the next one: read and sorted on the reading thread.
    private func traceIfDue(_ core: LedgerCore, _ progress: Progress) {
        guard !progress.isTracing, core.tracing == nil,
            core.writer.next > core.untraced &+ TraceRun.length
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

    /// Copies the pages of the write-ahead log into the database when there are many, on the reading thread. The log
    /// begins anew with the next commit that finds all of it copied and nobody reading in it. Readers that come one after
    /// the other would keep it from that for ever: when the log is four times as large, the writer waits for them, a
    /// moment only, and again after each quarter of that.
    private func checkpointIfDue(_ core: LedgerCore, _ progress: Progress) {
        let pages = core.connection.logPages
        if pages < progress.pagesAtCheckpoint { (progress.pagesAtCheckpoint, progress.pagesAtWait) = (0, 0) }
        guard pages >= checkpointPages else { return }
        if pages / 4 >= checkpointPages, pages - progress.pagesAtWait >= checkpointPages {
            (progress.pagesAtCheckpoint, progress.pagesAtWait) = (pages, pages)
            try? core.connection.checkpoint(.restart, patience: Self.readerPatience)
            return
        }
        guard !progress.isCheckpointing, pages - progress.pagesAtCheckpoint >= (checkpointPages + 3) / 4 else { return }
        progress.isCheckpointing = true
        progress.pagesAtCheckpoint = pages
        reading.execute { [self] in
            reader.valueUnlessClosed?.checkpoint()
            writing.execute { [self] in
                // What was written meanwhile is little; with it the log begins anew.
                try? self.core.valueUnlessClosed?.connection.checkpoint(.passive)
                self.progress.value.isCheckpointing = false
            }
        }
    }
}

/// A value of one thread, carried through code that is not on it.
final class Confined<Value: AnyObject>: @unchecked Sendable {
    // Unchecked: its owner opens it on the one thread only.
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
