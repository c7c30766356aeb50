import PushModel
import PushTime
import PushWire

/// Reading messages back from disk.
extension LedgerCore {
    /// The approximate size in memory at which an answer ends. The first message is returned whatever its size.
    private static let answerSize = 4 << 20

    /// Reads messages in the given order. A damaged message fails the call with a fault that names it. Later calls skip
    /// it, so that the caller can read the others. The router completes the damaged message, and its row is then
    /// removed; if its app is unknown, it is not completed, and fails a call again after a restart.
    func load(_ seqs: [UInt64]) -> Result<[AcceptedMessage], LedgerFault> {
        var messages: [AcceptedMessage] = []
        messages.reserveCapacity(seqs.count)
        var size = 0
        for seq in seqs where (unreadable.isEmpty || !unreadable.contains(seq)) && !machine.cancels.contains(seq) {
            if size >= Self.answerSize { break }
            do {
                guard let message = try load(seq) else { continue }
                size += message.size
                messages.append(message)
            } catch {
                guard error.code == .damaged else { return .failure(LedgerFault("\(error)")) }
                unreadable.insert(seq)
                return .failure(LedgerFault("\(error)", damaged: known(of: seq)))
            }
        }
        return .success(messages)
    }

    /// Returns what the event of its acceptance, which has the same number, says about a damaged message.
    private func known(of seq: UInt64) -> DamagedMessage {
        var (app, id): (AppID?, MessageID?) = (nil, nil)
        if let find = try? connection.prepare(
            "SELECT first, count, time, body FROM log WHERE first <= ? ORDER BY first DESC LIMIT 1")
        {
            find.bind(1, seq)
            if (try? find.step()) == true, let segment = LogSegment(find) {
                try? unsafe segment.walk(since: max(seq, 1) - 1) { event, apps, bytes in
                    guard event.seq == seq, event.kind == .messageAccepted else { return false }
                    app = event.app.map { apps[$0] }
                    id = event.messageID.flatMap {
                        MessageID(accepted: unsafe String(decoding: bytes[$0], as: UTF8.self))
                    }
                    return false
                }
            }
            find.reset()
        }
        return DamagedMessage(seq: seq, app: app, id: id)
    }

    private func load(_ seq: UInt64) throws(StoreError) -> AcceptedMessage? {
        if machine.dedupe.pending.contains(seq) { return machine.accepted(seq, try rows.readWaiting(seq)) }
        if machine.scheduledCount == 0 { return nil }
        return try rows.readScheduled(seq).map { machine.accepted(seq, $0) }
    }

    // MARK: Scheduled messages

    /// Returns the messages that are due at `time`, and when the next one is due. A damaged message fails one call; the
    /// next call continues after it.
    func due(at time: UnixSeconds, limit: Int) -> Result<DueMessages, LedgerFault> {
        var messages: [AcceptedMessage] = []
        var last = schedule.released
        var unread: UInt64?
        let before = schedule
        do {
            try collectOvertaken(at: time, limit, &messages, unread: &unread)
            try collect(at: time, limit - messages.count, &messages, &last, unread: &unread)
            schedule.released = last
            return .success(DueMessages(messages: messages, next: try nextDue()))
        } catch {
            // The next call finds these messages again.
            schedule = before
            if messages.isEmpty { schedule.released = last }
            return .failure(LedgerFault("\(error)", damaged: unread.flatMap { known(of: $0) }))
        }
    }

    private func collectOvertaken(
        at time: UnixSeconds, _ limit: Int, _ messages: inout [AcceptedMessage], unread: inout UInt64?
    ) throws(StoreError) {
        var size = 0
        while messages.count < limit, size < Self.answerSize, let seq = schedule.overtaken.next(at: time) {
            if unreadable.contains(seq) || machine.cancels.contains(seq) { continue }
            do {
                guard let stored = try rows.readScheduled(seq) else { continue }
                let message = machine.accepted(seq, stored)
                size += message.size
                messages.append(message)
            } catch {
                guard error.code == .damaged else { throw error }
                // Return the messages before it first. The next call reports the damaged one.
                if !messages.isEmpty { return schedule.overtaken.add(seq, due: UnixSeconds(.min)) }
                unreadable.insert(seq)
                unread = seq
                throw error
            }
        }
    }

    private func collect(
        at time: UnixSeconds, _ limit: Int, _ messages: inout [AcceptedMessage],
        _ last: inout (due: UnixSeconds, seq: UInt64),
        unread: inout UInt64?
    ) throws(StoreError) {
        let due = statements.due
        defer { due.reset() }
        due.bind(1, last.due)
        due.bind(2, last.seq)
        due.bind(3, time)
        due.bind(4, Int64(limit))
        var size = messages.reduce(0) { $0 + $1.size }
        while size < Self.answerSize, try due.step() {
            let seq = due.word(0)
            let stored = rows.scheduled(due)
            if stored == nil, !unreadable.contains(seq) {
                // Return the messages before it first. The next call reports the damaged one.
                if !messages.isEmpty { return }
                unreadable.insert(seq)
                last = (due.seconds(1), seq)
                unread = seq
                throw rows.damaged(seq)
            }
            last = (due.seconds(1), seq)
            guard let stored, !machine.cancels.contains(seq) else { continue }
            let message = machine.accepted(seq, stored)
            size += message.size
            messages.append(message)
        }
    }

    func nextDue() throws(StoreError) -> UnixSeconds? {
        let next = statements.nextDue
        defer { next.reset() }
        next.bind(1, schedule.released.due)
        next.bind(2, schedule.released.seq)
        let later = try next.step() ? next.seconds(0) : nil
        guard let earlier = schedule.overtaken.nextDue else { return later }
        return min(earlier, later ?? earlier)
    }
}
