import PushLogic
import PushLoop
import PushModel
import PushTime
import PushWire

/// Group commit: one transaction and one sync, and then the replies.
///
/// If the commit fails, none of the group has happened: requests are answered `failed`, and numbers and keys are taken
/// back. Outcomes and notes are retained in their order and are written first when the disk accepts writes again. Until
/// then each attempt begins with a small transaction, so that a full disk costs little.
extension LedgerCore {
    func write(_ group: LedgerGroup) {
        let now = clock()
        let start = MonotonicTime.current()
        var written = group
        written.outcomes = retained.outcomes + group.outcomes
        written.notes = retained.notes + group.notes
        if let lost = files.fault { return refused(group, written, LedgerFault("\(lost)")) }
        // A transaction whose rollback failed would block all later ones.
        if connection.isInTransaction { try? statements.rollBack.run() }
        do {
            // An empty group fits on a full disk and would clear the fault. Write a larger value first.
            if fault != nil { try probe() }
            try statements.begin.run()
            let decided = try machine.decide(written, at: now, using: rows)
            let tracing: Tracing?
            do throws(StoreError) {
                try rows.store(decided.rows)
                tracing = try storeTrace(before: decided.rows.number)
                try statements.commit.run()
            } catch {
                machine.undo(decided)
                throw error
            }
            countCommit(.current() - start)
            committed(tracing)
            retained = LedgerGroup()
            retainedCount = 0
            machine.commit(decided)
            done(written, decided)
        } catch {
            if connection.isInTransaction { try? statements.rollBack.run() }
            refused(group, written, LedgerFault("\(error)"))
        }
    }

    private func probe() throws(StoreError) {
        try statements.begin.run()
        try statements.probe.run()
        try statements.commit.run()
    }

    // MARK: After the transaction

    private func done(_ group: LedgerGroup, _ decided: borrowing DecidedGroup) {
        publish()
        for message in decided.rows.scheduled where message.due < schedule.released.due {
            schedule.overtaken.add(message.seq, due: message.due)
        }
        for segment in decided.rows.segments where segment.count > 0 { logBytes += Int64(segment.bytes.count) }
        let cancels = decided.cancels
        group.announce(decided, to: witness) { machine.announce(cancels) }
        drops.end()
        healthIs(nil)
    }

    /// Drops the events that wait for a failing disk, because the ledger closes.
    func dropNotes() {
        drops.add(retained.notes.reduce(0) { $0 + $1.0.count })
        for (_, done) in retained.notes { done?(nil) }
        retained.notes = []
        drops.end()
    }

    private func refused(_ group: LedgerGroup, _ written: LedgerGroup, _ fault: LedgerFault) {
        retained.outcomes = written.outcomes
        retainedCount = written.outcomeCount
        var written = written
        var dropped = 0
        if isEnding {
            written.notes.removeAll { events, done in
                guard let done else { return false }
                done(nil)
                dropped += events.count
                return true
            }
        }
        var count = written.notes.reduce(0) { $0 + $1.0.count }
        let kept = written.notes.drop { events, done in
            guard count > LedgerGroup.notesKept else { return false }
            count -= events.count
            dropped += events.count
            done?(nil)
            return true
        }
        retained.notes = Array(kept)
        drops.add(dropped)
        // A status that did not change is not published below.
        if dropped > 0 { publish() }
        for batch in group.requests { batch.answer(.failed(fault.description)) }
        for (_, requests, reply) in group.cancels { reply(requests.map { _ in .failed(fault.description) }) }
        for (_, _, reply) in group.pauses { reply(fault) }
        for (_, reply) in group.receipts { reply(.failed(fault.description)) }
        healthIs(fault)
    }
}
