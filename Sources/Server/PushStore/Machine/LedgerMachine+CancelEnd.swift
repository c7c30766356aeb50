import PushLogic
import PushModel
import PushTime
import PushWire

/// The end of cancellations: their counts, their events and their answers.
extension LedgerMachine {
    /// Takes the counts of a cancellation whose messages are stopped, and completes those that only the store knows.
    mutating func finish<Lookup: LedgerLookup>(
        _ end: CancelEnd, in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        guard let open = cancels.open[end.number] else { return }
        var counts = CancelCounts()
        counts.isOfActivities = open.parts.contains(where: \.isOfActivity)
        var words: [UInt64] = []
        var ended: [CompletedMessage] = []
        var isStopped = false
        for part in end.parts {
            var stored = StoredCancelPart(seq: part.seq)
            switch part.fate {
            case .stopped(let sent, let underWay, let cancelled, let endedCount):
                isStopped = true
                counts.sent += sent + underWay
                counts.cancelled += cancelled
                (stored.underWay, stored.ended, stored.cancelled) = (underWay, endedCount, cancelled)
            case .ending: break
            case .absent:
                guard let known = open.part(part.seq) else { continue }
                if try isOpen(part.seq, in: decided, lookup) {
                    isStopped = true
                    var outcomes = dedupe.recoveredCounts(of: part.seq)
                    let named = UInt64(max(0, known.named ?? 0))
                    outcomes.cancelled = UInt32(clamping: named - min(named, outcomes.ended))
                    counts.sent += UInt64(outcomes.sent)
                    counts.cancelled += UInt64(outcomes.cancelled)
                    stored.cancelled = UInt64(outcomes.cancelled)
                    ended.append(CompletedMessage(seq: part.seq, message: known.message, counts: outcomes))
                } else {
                    // The router completed the message before the order came.
                    cancels.completing.append(part.seq)
                    counts.sent += UInt64(known.completed?.sent ?? 0)
                }
            }
            stored.append(to: &words)
        }
        if counts.isOfActivities { StoredCancelPart.markActivities(in: &words) }
        if open.parts.contains(where: \.isTurn) { counts.sent &+= open.sentBefore }
        decided.cancels.finished.append(CancelGroup.Finished(number: end.number, counts: isStopped ? counts : nil))
        guard isStopped else { return decided.rows.removedCancels.append(end.number) }
        decided.rows.changedCancels.append(
            LedgerRows.ChangedCancel(number: end.number, counts: counts, parts: words))
        writer.add(draft(of: open.request, counts), at: decided.time)
        for message in ended {
            writer.add(message, at: decided.time)
            try complete(message, in: &decided, lookup)
        }
    }

    /// Returns whether a message of an earlier group is not done.
    func isOpen<Lookup: LedgerLookup>(
        _ seq: UInt64, in decided: borrowing DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) -> Bool {
        if dedupe.pending.contains(seq) { return true }
        return try isScheduled(seq, in: decided, lookup)
    }

    private func draft(of request: CancelRequest, _ counts: CancelCounts) -> EventDraft {
        var draft = EventDraft(.messageCancelled, app: request.app)
        draft.messageID = request.id
        draft.add("sent", number: Int64(clamping: counts.sent))
        draft.add("cancelled", number: Int64(clamping: counts.cancelled))
        if let client = request.client, !client.isEmpty { draft.add("by", text: client) }
        return draft
    }

    // MARK: After the commit

    /// Answers what the group has decided, and returns the orders for the witness.
    mutating func announce(_ group: CancelGroup) -> [CancelOrder] {
        cancels.commit()
        for new in group.new {
            cancels.open[new.number] = new.cancel
            for seq in new.open { cancels.numbers[seq] = new.number }
        }
        for (reply, number) in group.waiting { cancels.open[number]?.replies.append(reply) }
        for finished in group.finished {
            guard let open = cancels.open.removeValue(forKey: finished.number) else { continue }
            dedupe.sentTurns.forget(open.fingerprint)
            if finished.counts == nil {
                dedupe.forgetCancelled(open.fingerprint)
                for part in open.parts { cancels.numbers[part.seq] = nil }
            }
            for reply in open.replies { reply(finished.counts.map { .cancelled($0) } ?? .tooLate) }
        }
        for (reply, answer) in group.answers { reply(answer) }
        return group.new.map { new in
            CancelOrder(
                number: new.number,
                parts: new.cancel.parts.map {
                    CancelOrder.Part(seq: $0.seq, lane: $0.lane, named: $0.named, begin: $0.begin)
                })
        }
    }

    /// Answers the requests that still wait, because the ledger closes.
    mutating func refuseCancels() {
        for open in cancels.open.values {
            for reply in open.replies { reply(.failed("the ledger is closed")) }
        }
        cancels.open = [:]
    }
}
