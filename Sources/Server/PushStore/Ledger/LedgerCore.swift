import PushLogic
import PushLoop
import PushModel
import PushTime
import PushWire

/// The ledger's state, and the operations on it. Confined to the writing thread.
///
/// The ledger uses these terms:
/// - A *group* is the work that one transaction commits. Its events get ascending numbers.
/// - The number of a message (`seq`) is the number of its `message.accepted` event.
/// - A *segment* is a sequence of events that is stored as one row of the log.
/// - A *fingerprint* is a keyed hash: of an app and a message id, or of these and a device, which is a *delivery*.
/// - An `AcceptedKey` identifies an accepted message within the dedupe window, and an `EndedKey` an ended delivery.
/// - A *claim* reserves a delivery, so that no other message with the same id is sent to that device.
/// - A *single* message names one device and was the first with its id. It needs no claim, because its accepted key
///   contains the fingerprint of its only delivery.
/// - A row of keys is *pinned* while it is older than the dedupe window but still needed.
/// - A ``TraceRun`` is an index of a part of the log.
final class LedgerCore {
    /// The rows that were written while the wall clock was ahead.
    struct Ahead {
        /// The date of such rows of the log, if there are any.
        var logDate: LogDate?
        var log = RowsAhead()
        var keys = RowsAhead()
    }

    /// How far scheduled messages were handed out.
    struct SchedulePosition {
        /// The position up to which messages were handed out.
        var released: (due: UnixSeconds, seq: UInt64) = (UnixSeconds(.min), 0)
        /// The scheduled messages that were accepted after that, although they are due before this position.
        var overtaken = OvertakenMessages()
    }

    let rows: SQLiteRows
    let clock: @Sendable () -> WallTime
    let steady: @Sendable () -> MonotonicTime
    /// The clock by which keys and events age.
    var ageClock: AgeClock
    var witness: (any LedgerWitness)?

    var machine: LedgerMachine
    var retention: LedgerRetention {
        didSet {
            machine.dedupe.setWindow(retention.window)
            machine.dedupe.limit = retention.keyLimit
        }
    }
    /// The state as of the last commit, for other threads.
    let published = Locked(PublishedLedger())
    /// Called with the duration of each commit.
    private let committing: @Sendable (Duration) -> Void
    /// The events that were dropped because writes failed for too long.
    var drops: EventDrops
    var schedule = SchedulePosition()
    var logBytes: Int64 = 0
    var ahead = Ahead()
    /// The files that must keep their names. Without them, nothing is written.
    let files: OpenedFiles
    /// The number of the oldest event in the log.
    var oldest: UInt64 = 1
    /// The outcomes and notes of failed writes, in order. They are written first when the disk accepts writes again.
    var retained = LedgerGroup()
    var retainedCount = 0
    /// The claims that wait until the disk accepts writes again.
    private var held: [([ClaimPage], @Sendable ([[ClaimVerdict]]) -> Void)] = []
    /// The numbers of messages that were found to be damaged and reported.
    var unreadable: Set<UInt64> = []
    private(set) var fault: LedgerFault?
    /// Set when the ledger is about to close. Callers of `note` that wait for a failing disk are then answered at once.
    var isEnding = false
    private(set) var commits = LedgerCommits()
    /// The number of the last event that is part of a stored trace run.
    var traced: UInt64 = 0
    /// Whether there may be pages that an erasure has used which failed or was killed.
    var hasUsedPages = true
    /// The trace run that is being stored.
    var tracing: Tracing?

    init(
        _ rows: SQLiteRows, _ identities: Identities, _ writer: LogWriter, age: AgeClock.Stored?,
        settings: SQLiteLedger.Settings
    ) {
        self.rows = rows
        retention = settings.retention
        files = settings.files
        machine = LedgerMachine(
            identities, writer: writer,
            dedupe: DedupeMachine(window: settings.retention.window, limit: settings.retention.keyLimit),
            storeName: rows.connection.path)
        (clock, steady) = (settings.clock, settings.steadyClock)
        committing = settings.committed
        drops = EventDrops(report: settings.eventsDropped)
        ageClock = AgeClock(last: age, wall: clock(), steady: steady())
    }

    var connection: SQLiteConnection { rows.connection }
    var statements: LedgerStatements { rows.statements }

    /// Returns the time by which keys and events age, given that the wall clock shows `now`.
    func age(at now: WallTime) -> AgeClock.Stored {
        ageClock.advance(wall: now, steady: steady())
        return ageClock.stored
    }

    /// The number of retained outcomes from which on messages are no longer loaded and devices no longer claimed,
    /// because these produce further outcomes. Outcomes of deliveries that are already in flight are still taken in.
    static let retainedLimit = 65_536

    private var isOverfull: Bool { retainedCount > Self.retainedLimit }

    /// Executes calls in order, and commits everything that is to be written as one group. Returns whether there is
    /// more to trim.
    @discardableResult
    func process(_ work: ArraySlice<LedgerWork>) -> Bool {
        var group = LedgerGroup()
        var retention: LedgerRetention?
        var erasures: [(UserErasure, ErasurePlace, @Sendable (Result<ErasureStep, LedgerFault>) -> Void)] = []
        for item in work {
            switch item {
            case .accept(let requests, let reply): group.requests.append(RequestBatch(requests, reply: reply))
            case .record(let deliveries, let completed): group.outcomes.append((deliveries, completed, []))
            case .cancel(let requests, let reply): group.cancels.append((group.requests.count, requests, reply))
            case .endCancels(let ends, let claims):
                if !ends.isEmpty { group.outcomes.append(([], [], ends)) }
                for page in claims { release(page) }
            case .pause(let app, let time, let reply): group.pauses.append((app, time, reply))
            case .note(let events, let done): group.notes.append((events, done))
            case .receipt(let receipt, let reply): group.receipts.append((receipt, reply))
            case .claim(let pages, let reply):
                if isOverfull || !held.isEmpty { held.append((pages, reply)) } else { reply(claim(pages)) }
            case .load(let seqs, let reply): reply(isOverfull ? .failure(refusal) : load(seqs))
            case .due(let time, let limit, let reply):
                reply(isOverfull ? .failure(refusal) : due(at: time, limit: limit))
            case .trim(let asked): retention = asked
            case .erase(let erasure, let place, let reply): erasures.append((erasure, place, reply))
            }
        }
        if !group.isEmpty || !retained.isEmpty || fault != nil { write(group) }
        if !held.isEmpty, !isOverfull {
            for (pages, reply) in exchange(&held, with: []) { reply(claim(pages)) }
        }
        // Messages that this group has stored are among those that are searched.
        for (erasure, place, reply) in erasures { reply(erase(erasure, from: place)) }
        guard let retention else { return false }
        let hasMore = trim(retention)
        publish(isWhole: true)
        return hasMore
    }

    private var refusal: LedgerFault { fault ?? LedgerFault("cannot write \(connection.path); retrying") }

    func healthIs(_ fault: LedgerFault?) {
        guard fault != self.fault else { return }
        self.fault = fault
        // Nothing reads that the ledger can write before intake knows it, or that it cannot after intake does.
        if fault == nil { witness?.healthChanged(nil) }
        publish()
        if fault != nil { witness?.healthChanged(fault) }
    }

    func countCommit(_ time: Duration) {
        commits.add(time)
        committing(time)
    }

    // MARK: Claims

    private func release(_ page: ClaimPage) {
        let identities = machine.identities
        machine.dedupe.release(page.devices.map { identities.delivery(of: page.fingerprint, to: $0).value })
    }

    private func claim(_ pages: [ClaimPage]) -> [[ClaimVerdict]] {
        let identities = machine.identities
        return pages.map { page in
            machine.dedupe.claim(
                page.devices.map { identities.delivery(of: page.fingerprint, to: $0).value },
                lookupCount: page.lookupCount,
                for: page.seq)
        }
    }
}
