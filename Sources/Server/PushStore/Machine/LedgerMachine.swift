import PushLogic
import PushModel
import PushTime
import PushWire

/// The decisions of the ledger about one log: which requests are accepted, which numbers events get, what is stored
/// and what is no longer needed.
///
/// The machine has no storage. An engine uses it in this order, one group at a time:
/// 1. ``decide(_:at:using:)`` decides upon the calls of a group and returns what is to be stored.
/// 2. The engine stores the rows in one transaction.
/// 3. ``commit(_:)`` follows if that succeeded, otherwise ``undo(_:)``: nothing of the group has happened then.
struct LedgerMachine: ~Copyable {
    let identities: Identities
    /// The store in the words of an error message, such as the path of a file.
    let storeName: String
    var writer: LogWriter
    /// The rules of deduplication, and what they remember.
    var dedupe: DedupeMachine
    /// The cancellations that are not finished.
    var cancels = LedgerCancels()
    /// The number of scheduled messages that are not done.
    var scheduledCount = 0
    /// The number of unfinished messages per app.
    var backlog = AppBacklogs()
    /// The Live Activities without a known address, of all parts of the ledger.
    let activityWaits: SharedActivityWaits

    init(
        _ identities: Identities, writer: LogWriter, dedupe: consuming DedupeMachine, storeName: String,
        activityWaits: SharedActivityWaits = SharedActivityWaits()
    ) {
        self.activityWaits = activityWaits
        self.identities = identities
        self.writer = writer
        self.dedupe = dedupe
        self.storeName = storeName
    }

    /// Decides upon a group. If a lookup fails, nothing of the group has happened.
    mutating func decide<Lookup: LedgerLookup>(
        _ group: LedgerGroup, at now: WallTime, using lookup: Lookup
    ) throws(Lookup.Failure) -> DecidedGroup {
        var accepted: [AcceptedMessage] = []
        accepted.reserveCapacity(group.requestCount)
        var decided = try decide(group, at: now, using: lookup, appending: &accepted)
        decided.accepted = accepted
        return decided
    }

    /// Decides upon a group, and appends its accepted messages to those of other parts.
    mutating func decide<Lookup: LedgerLookup>(
        _ group: LedgerGroup, at now: WallTime, using lookup: Lookup, appending accepted: inout [AcceptedMessage]
    ) throws(Lookup.Failure) -> DecidedGroup {
        writer.setMark()
        let count = group.requestCount
        let others = group.weight - count
        var decided = DecidedGroup(at: now, first: writer.next, reserving: count, firstAccepted: accepted.count)
        // The array moves to the group and back, so that nothing is copied.
        swap(&decided.accepted, &accepted)
        cancels.completing.removeAll(keepingCapacity: true)
        writer.begin(time: now, reserving: Self.room(forEvents: count > 0 ? count : others))
        do throws(Lookup.Failure) {
            try decideRequests(group, in: &decided, lookup)
            cut(in: &decided, reserving: Self.room(forEvents: others))
            try add(group, in: &decided, lookup)
            try prepareCancels(in: &decided, lookup)
            for (app, time, _) in group.pauses { decided.rows.pauses.append((app, time)) }
            for (receipt, _) in group.receipts { try add(receipt, in: &decided, lookup) }
        } catch {
            undo(decided)
            swap(&decided.accepted, &accepted)
            accepted.removeSubrange(decided.firstAccepted...)
            throw error
        }
        swap(&decided.accepted, &accepted)
        decided.rows.completed = decided.dedupe.completed
        decided.rows.segments.append(writer.finish())
        decided.rows.heads = writer.changedTopics
        return decided
    }

    /// Ends a group whose rows are stored.
    mutating func commit(_ decided: borrowing DecidedGroup) {
        scheduledCount += decided.rows.scheduled.count - decided.dedupe.unscheduledCount
        for change in decided.backlog.changes {
            backlog.add(change.app, waiting: change.waiting, scheduled: change.scheduled)
        }
        dedupe.commit(decided.dedupe)
        decided.activities?.stored()
        for (fingerprint, sent) in decided.endedTurns {
            if let sent { dedupe.sentTurns.add(sent, to: fingerprint) } else { dedupe.sentTurns.forget(fingerprint) }
        }
        for row in decided.rows.messages { dedupe.addPending(row.finished()) }
    }

    /// Undoes the decisions of a group that could not be stored.
    mutating func undo(_ decided: borrowing DecidedGroup) {
        writer.revert()
        dedupe.undo(decided.dedupe)
        decided.activities?.withdraw()
    }

    /// The maximum number of events in a segment, because readers load a segment as a whole.
    private static let segmentLimit = 8192

    /// Ends the current segment and begins another one.
    private mutating func cut(in decided: inout DecidedGroup, reserving capacity: Int) {
        guard writer.count > 0 else { return }
        decided.rows.segments.append(writer.finish())
        writer.begin(time: decided.time, reserving: capacity)
    }

    /// The capacity for some events of the usual size. A group of one part has few.
    private static func room(forEvents count: Int) -> Int { count == 0 ? 0 : 64 + 96 * count }

    /// Ends the current segment if it is full.
    mutating func cutIfFull(in decided: inout DecidedGroup) {
        if writer.count >= Self.segmentLimit { cut(in: &decided, reserving: 4096) }
    }

    /// Adds the event of a notification to the current segment, unless its id is known.
    private mutating func add<Lookup: LedgerLookup>(
        _ receipt: ReceivedReceipt, in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        var isKnown = decided.rows.receipts.contains { $0.app == receipt.app && $0.id == receipt.id }
        if !isKnown { isKnown = try lookup.hasReceipt(receipt.id, of: receipt.app) }
        if isKnown { return decided.receipts.append(.duplicate) }
        decided.rows.receipts.append((receipt.app, receipt.id))
        decided.receipts.append(.stored(writer.next))
        writer.add(receipt.event, at: decided.time)
    }
}
