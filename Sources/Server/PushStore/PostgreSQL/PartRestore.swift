import PushLogic
import PushModel
import PushTime
import PushWire

/// Rebuilds the state of one part from its rows: first the rows of bodies, then the scheduled messages, then the rows of
/// keys, each in ascending order.
struct PartRestore: ~Copyable {
    private let part: Int
    private let epoch: Int64
    private var machine: LedgerMachine
    private let lookup = PartLookup()
    private var lanes = WaitingLanes()
    private var times: [(first: UInt64, time: WallTime)] = []
    /// The rows of keys, in which ``finish()`` looks up some keys.
    private var rows: [KeyRow] = []
    private var next: UInt64
    private var oldest: UInt64?
    private var cancelTimes = CancelTimes()
    private var heads: [Topic: UInt64] = [:]
    private var stored = StoredTimes()
    private let latest: WallTime

    private struct Topic: Hashable {
        let app: AppID?
        let kind: EventKind
    }

    /// - Parameter latest: The latest time that a row can have. Later ones are of a clock that was wrong.
    init(
        _ part: Int, of count: Int, epoch: Int64, identities: Identities, retention: LedgerRetention, storeName: String,
        activityWaits: SharedActivityWaits, latest: WallTime
    ) {
        self.part = part
        self.latest = latest
        self.epoch = epoch
        next = EventNumber.base(of: part) + 1
        lookup.forgottenUpTo = EventNumber.base(of: part)
        machine = LedgerMachine(
            identities, writer: LogWriter(next: next),
            dedupe: DedupeMachine(
                window: retention.window, limit: max(1, retention.keyLimit / max(1, count)),
                space: .part(part, of: count)), storeName: storeName, activityWaits: activityWaits)
    }

    private func damaged(_ table: String, _ number: UInt64) -> StoreError {
        StoreError(
            .damaged,
            "\(machine.storeName) is damaged: row \(EventNumber.within(number)) of part \(part) in the table \(table) "
                + "is invalid; restore the database from a backup")
    }

    private func check(_ number: UInt64, count: Int = 1, _ table: String) throws(StoreError) {
        let space = machine.dedupe.space
        let (last, overflow) = number.addingReportingOverflow(UInt64(max(0, count)))
        guard !overflow, space.contains(number), space.contains(last) else { throw damaged(table, number) }
    }

    /// Adds the heads of a row of bodies.
    mutating func addBodies(first: UInt64, time: WallTime, heads bytes: [UInt8]) throws(StoreError) {
        guard let (apps, heads) = StoredBodies.heads(bytes) else { throw damaged("bodies", first) }
        let count = heads.count / MessageRowBuilder.headSize
        try check(first, count: count, "bodies")
        times.append((first, time))
        var segment = PendingMessages.Segment(first: first, count: count)
        unsafe heads.withUnsafeBytes { bytes in
            for index in 0..<count {
                guard let head = unsafe MessageHead(bytes, at: index), head.app < apps.count else { continue }
                // Until the key of the message is read, assume that it needs claims.
                segment.add(index, claims: true)
                lanes.add(first + UInt64(index), to: head.lane(of: apps[head.app]))
            }
        }
        machine.dedupe.addPending(segment)
    }

    /// Adds a scheduled message that is not done.
    mutating func addScheduled(_ seq: UInt64, due: UnixSeconds, app: AppID, key: AcceptedKey) throws(StoreError) {
        try check(seq, "later")
        lookup.due.add(seq, due: due, key: key)
        machine.dedupe.restore(scheduled: [
            DedupeMachine.ScheduledMessage(seq: seq, fingerprint: key.fingerprint, audience: key.audience)
        ])
        machine.backlog.add(app, scheduled: 1)
        machine.scheduledCount += 1
    }

    /// Adds a row of keys.
    mutating func addKeys(_ bytes: [UInt8], number: UInt64, time: WallTime) throws(StoreError) {
        try check(number, "groups")
        guard let stored = StoredKeyRow(bytes, number: number) else { throw damaged("groups", number) }
        try check(number, count: stored.row.accepted.count, "groups")
        let row = stored.row
        machine.dedupe.restoreAccepted(row.accepted, from: number)
        machine.dedupe.restoreEnded(row.ended)
        for seq in row.completed { machine.dedupe.restoreCompleted(seq) }
        next = max(next, stored.next)
        oldest = oldest ?? number
        if time <= latest { self.stored.note(time, of: number) }
        for head in stored.heads {
            let topic = Topic(app: head.app, kind: head.kind)
            heads[topic] = max(heads[topic] ?? 0, head.seq)
        }
        if !row.accepted.isEmpty { rows.append(KeyRow(number: number, accepted: row.accepted)) }
    }

    private static func key(of seq: UInt64, in rows: [KeyRow]) -> AcceptedKey? {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].number <= seq { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        let index = Int(clamping: seq - rows[low - 1].number)
        return index < rows[low - 1].accepted.count ? rows[low - 1].accepted[index] : nil
    }

    /// Adds a cancelled id.
    mutating func addCancelled(_ fingerprint: UInt64, number: UInt64, time: WallTime) throws(StoreError) {
        try check(number, "cancels")
        machine.dedupe.restoreCancelled(fingerprint, number: number)
        cancelTimes.add(CancelTimes.Cancelled(number: number, fingerprint: fingerprint), at: time)
    }

    /// Returns the part, with the messages that wait in it.
    consuming func finish() -> LedgerPart {
        let (rows, lookup, cancelTimes) = (rows, lookup, cancelTimes)
        machine.dedupe.finishRestoring { (seq) in
            Self.key(of: seq, in: rows) ?? lookup.due.key(of: seq)
        }
        machine.writer = LogWriter(
            next: next, heads: heads.map { LogWriter.Head(app: $0.key.app, kind: $0.key.kind, seq: $0.value) })
        var backlog = LedgerBacklog(times: times, nextDue: lookup.due.nextDue)
        lanes.removeDone(by: machine.dedupe.pending)
        backlog.lanes = lanes.lanes
        backlog.stored = stored
        for (lane, seqs) in backlog.lanes { machine.backlog.add(lane.app, waiting: seqs.count) }
        let restored = LedgerPart(part, epoch: epoch, machine, lookup, oldest: oldest ?? next, backlog: backlog)
        restored.cancelTimes = cancelTimes
        return restored
    }
}
