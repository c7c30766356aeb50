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
    /// The maximum number of events in a segment, because readers load a segment as a whole.
    private static let segmentLimit = 8192
    private static let scheduledSeenLimit = 1024

    func write(_ group: LedgerGroup) {
        let now = clock()
        let start = MonotonicTime.current()
        writer.setMark()
        let first = writer.next
        var written = LedgerGroup()
        written.requests = group.requests
        (written.cancels, written.pauses, written.receipts) = (group.cancels, group.pauses, group.receipts)
        written.outcomes = retained.outcomes + group.outcomes
        written.notes = retained.notes + group.notes
        let count = group.requests.reduce(0) { $0 + $1.0.count }
        var decided = DedupeGroup(first: first, reserving: count)
        var intake = Intake(reserving: count)
        var cancelGroup = CancelGroup()
        cancels.completing.removeAll(keepingCapacity: true)
        var segments: [LogSegment] = []
        scheduledSeen.removeAll(keepingCapacity: true)
        // A transaction whose rollback failed would block all later ones.
        if connection.isInTransaction { try? statements.rollBack.run() }
        do {
            // An empty group fits on a full disk and would clear the fault. Write a larger value first.
            if fault != nil { try probe() }
            try statements.begin.run()
            writer.begin(time: now, reserving: 64 * (1 + written.weight))
            try decide(written, at: now, in: &decided, into: &intake, &cancelGroup)
            cut(&segments, at: now)
            let outcomes = try add(written, intake, to: &segments, in: &decided, &cancelGroup, at: now)
            try store(intake, at: now)
            if !cancelGroup.new.isEmpty {
                try store(&cancelGroup, first: first, accepted: intake.accepted, at: now)
            }
            for (app, time, _) in written.pauses { try store(pausedAt: time, of: app) }
            let receipts = try written.receipts.map { (receipt, _) throws(StoreError) in try add(receipt, at: now) }
            try storeKeys(
                first, accepted: intake.keyWords, ended: outcomes.ended, completed: decided.completed, at: now)
            segments.append(writer.finish())
            try store(segments)
            let tracing = try storeTrace()
            try statements.commit.run()
            countCommit(.current() - start)
            committed(tracing)
            retained = LedgerGroup()
            retainedCount = 0
            scheduledCount += intake.scheduled.count - decided.unscheduledCount
            dedupe.commit(decided)
            done(written, intake, cancelGroup, outcomes, receipts, segments)
        } catch {
            if connection.isInTransaction { try? statements.rollBack.run() }
            writer.revert()
            dedupe.undo(decided)
            backlog = published.withLock { $0.backlogs }
            refused(group, written, LedgerFault("\(error)"))
        }
    }

    private func probe() throws(StoreError) {
        try statements.begin.run()
        try statements.probe.run()
        try statements.commit.run()
    }

    /// The data that the outcomes and notes of a group add to the disk and to memory.
    private struct Outcomes {
        /// The number of the first event of each note.
        var notes: [UInt64] = []
        /// The keys of ended deliveries as words, in the form in which they are stored.
        var ended: [UInt64] = []
    }

    /// Writes outcomes and notes into the current segment.
    private func add(
        _ group: LedgerGroup, _ intake: Intake, to segments: inout [LogSegment], in decided: inout DedupeGroup,
        _ cancelGroup: inout CancelGroup, at now: WallTime
    ) throws(StoreError) -> Outcomes {
        var outcomes = Outcomes()
        // Count here: to read `writer.count` for each record would copy the writer.
        var count = writer.count
        func counted(_ events: Int) {
            count += events
            if count >= Self.segmentLimit {
                cut(&segments, at: now)
                count = 0
            }
        }
        for (deliveries, messages, ends) in group.outcomes {
            for end in ends { counted(try finish(end, in: &decided, into: &cancelGroup, at: now)) }
            for record in deliveries {
                writer.add(record, at: now)
                counted(1)
                guard let final = record.outcome.final else { continue }
                let key = try dedupe.end(
                    record.seq, as: final, acceptedAt: record.acceptedAt, at: now, in: &decided,
                    delivery: { identities.delivery(of: record.fingerprint, to: record.device).value },
                    scheduledKey: { (seq) throws(StoreError) in try self.seenScheduledKey(of: seq) })
                key?.append(to: &outcomes.ended)
            }
            for message in messages {
                writer.add(message, at: now)
                counted(message.eventCount)
                try complete(message, in: &decided)
            }
        }
        for (events, _) in group.notes {
            outcomes.notes.append(writer.next)
            for event in events { writer.add(event, at: now) }
            counted(events.count)
        }
        for (message, seq) in intake.duplicates {
            var draft = EventDraft(.messageDuplicate, app: message.app)
            draft.messageID = message.id
            draft.add("accepted_seq", number: Int64(clamping: seq))
            writer.add(draft, at: now)
        }
        return outcomes
    }

    /// Takes a completed message and removes what only an unfinished one needs.
    func complete(_ message: CompletedMessage, in decided: inout DedupeGroup) throws(StoreError) {
        if !cancels.numbers.isEmpty { cancels.complete(message) }
        let completion = try dedupe.complete(
            message.seq, in: &decided,
            scheduledKey: { (seq) throws(StoreError) in scheduledCount > 0 ? try scheduledKey(of: seq) : nil },
            hasStoredKey: { (seq) throws(StoreError) in try storedKey(of: seq) != nil })
        switch completion {
        case .done:
            backlog.add(message.message.app, waiting: -1)
        case .rowDone(let first):
            backlog.add(message.message.app, waiting: -1)
            statements.removeMessages.bind(1, first)
            try statements.removeMessages.run()
        case .unscheduled:
            backlog.add(message.message.app, scheduled: -1)
            statements.removeScheduled.bind(1, message.seq)
            try statements.removeScheduled.run()
        case .unknown: break
        }
    }

    /// Returns the key of a scheduled message. Many deliveries of one message end in one group, so it is kept.
    private func seenScheduledKey(of seq: UInt64) throws(StoreError) -> AcceptedKey? {
        if scheduledCount == 0 { return nil }
        if let known = scheduledSeen[seq] { return known }
        let key = try scheduledKey(of: seq)
        if scheduledSeen.count >= Self.scheduledSeenLimit { scheduledSeen.removeAll(keepingCapacity: true) }
        scheduledSeen[seq] = .some(key)
        return key
    }

    private func cut(_ segments: inout [LogSegment], at now: WallTime) {
        guard writer.count > 0 else { return }
        segments.append(writer.finish())
        writer.begin(time: now, reserving: 4096)
    }

    // MARK: Rows

    private func store(pausedAt time: WallTime?, of app: AppID) throws(StoreError) {
        if let time {
            statements.setPaused.bind(1, app.name)
            statements.setPaused.bind(2, time)
            try statements.setPaused.run()
        } else {
            statements.removePaused.bind(1, app.name)
            try statements.removePaused.run()
        }
    }

    private func store(_ intake: Intake, at now: WallTime) throws(StoreError) {
        for row in intake.rows {
            let add = statements.addMessages
            add.bind(1, row.first)
            add.bind(2, Int64(row.count))
            add.bind(3, now)
            add.bind(4, row.apps.map(\.name).joined(separator: "\n"))
            add.bind(5, row.heads)
            add.bind(6, row.bodies)
            try add.run()
        }
        for message in intake.scheduled {
            let add = statements.addScheduled
            add.bind(1, message.seq)
            add.bind(2, message.due)
            add.bind(3, now)
            add.bind(4, message.key.fingerprint)
            add.bind(5, message.key.storedContent)
            add.bind(6, message.key.audience)
            add.bind(7, message.app.name)
            add.bind(8, message.body)
            try add.run()
        }
    }

    private func storeKeys(
        _ number: UInt64, accepted: [UInt64], ended: [UInt64], completed: [UInt64], at now: WallTime
    ) throws(StoreError) {
        if accepted.isEmpty, ended.isEmpty, completed.isEmpty { return }
        let add = statements.addKeys
        add.bind(1, number)
        add.bind(2, now)
        add.bind(3, accepted)
        add.bind(4, ended)
        add.bind(5, completed)
        try add.run()
    }

    private func store(_ segments: [LogSegment]) throws(StoreError) {
        for segment in segments where segment.count > 0 {
            let add = statements.addLog
            add.bind(1, segment.first)
            add.bind(2, Int64(segment.count))
            add.bind(3, segment.time)
            add.bind(4, segment.bytes)
            try add.run()
        }
        for head in writer.changedTopics {
            statements.setHead.bind(1, head.app?.name ?? "")
            statements.setHead.bind(2, Int64(head.kind.rawValue))
            statements.setHead.bind(3, head.seq)
            try statements.setHead.run()
        }
    }

    // MARK: After the transaction

    private func done(
        _ group: LedgerGroup, _ intake: Intake, _ cancelGroup: CancelGroup, _ outcomes: Outcomes,
        _ receipts: [ReceiptIntake], _ segments: [LogSegment]
    ) {
        for row in intake.rows { dedupe.addPending(row.finished()) }
        publish()
        for message in intake.scheduled where message.due < released.due {
            overtaken.add(message.seq, due: message.due)
        }
        for segment in segments where segment.count > 0 { logBytes += Int64(segment.bytes.count) }
        for ((_, reply), replies) in zip(group.requests, intake.replies) { reply(replies) }
        if !intake.accepted.isEmpty { witness?.accepted(intake.accepted) }
        let orders = done(cancelGroup)
        if !orders.isEmpty { witness?.cancelled(orders) }
        for (_, _, reply) in group.pauses { reply(nil) }
        for ((_, reply), result) in zip(group.receipts, receipts) { reply(result) }
        for segment in segments where segment.count > 0 { witness?.committed(segment) }
        for ((_, done), number) in zip(group.notes, outcomes.notes) { done?(number) }
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
        retainedCount = written.outcomes.reduce(0) { $0 + $1.0.count + $1.1.count + $1.2.count }
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
        for (requests, reply) in group.requests {
            reply(Array(repeating: .failed(fault.description), count: requests.count))
        }
        for (_, _, reply) in group.cancels { reply(.failed(fault.description)) }
        for (_, _, reply) in group.pauses { reply(fault) }
        for (_, reply) in group.receipts { reply(.failed(fault.description)) }
        healthIs(fault)
    }
}

extension LedgerGroup {
    var weight: Int {
        requests.reduce(0) { $0 + $1.0.count } + cancels.count
            + outcomes.reduce(0) { $0 + $1.0.count + $1.1.count + $1.2.count }
            + notes.reduce(0) { $0 + $1.0.count } + receipts.count
    }
}
