import PushLogic
import PushModel
import PushTime
import PushWire

/// Outcomes of deliveries, completed messages, and other events.
extension LedgerMachine {
    /// Writes the outcomes and notes of a group into segments.
    mutating func add<Lookup: LedgerLookup>(
        _ group: LedgerGroup, in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        var seen = SeenKeys()
        for (deliveries, messages, ends) in group.outcomes {
            for end in ends {
                try finish(end, in: &decided, lookup)
                cutIfFull(in: &decided)
            }
            // They are read in place: a copy of one retains all that it refers to.
            let records = deliveries.span
            for index in records.indices {
                try add(records[index], in: &decided, &seen, lookup)
                cutIfFull(in: &decided)
            }
            for message in messages {
                writer.add(message, at: decided.time)
                cutIfFull(in: &decided)
                try complete(message, in: &decided, lookup)
            }
        }
        for (events, _) in group.notes {
            decided.notes.append(writer.next)
            for event in events { writer.add(event, at: decided.time) }
            cutIfFull(in: &decided)
        }
        for (event, _) in group.shared { writer.add(event.draft, at: decided.time) }
        cutIfFull(in: &decided)
        for (message, seq) in decided.duplicates {
            var draft = EventDraft(.messageDuplicate, app: message.app)
            draft.messageID = message.id
            // The acceptance is in the part of this event, because the id determines the part.
            draft.add("accepted_seq", number: Int64(clamping: EventNumber.shown(seq).number))
            writer.add(draft, at: decided.time)
        }
    }

    /// The keys of the scheduled messages that were looked up for a group. Many deliveries of one message end in one
    /// group.
    private struct SeenKeys {
        private static let limit = 1024
        private var keys: [UInt64: AcceptedKey?] = [:]

        mutating func key<Failure: Error>(
            of seq: UInt64, else lookUp: (UInt64) throws(Failure) -> AcceptedKey?
        ) throws(Failure) -> AcceptedKey? {
            if let known = keys[seq] { return known }
            let key = try lookUp(seq)
            if keys.count >= Self.limit { keys.removeAll(keepingCapacity: true) }
            keys[seq] = .some(key)
            return key
        }
    }

    private mutating func add<Lookup: LedgerLookup>(
        _ record: DeliveryRecord, in decided: inout DecidedGroup, _ seen: inout SeenKeys, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        writer.add(record, at: decided.time)
        guard let final = record.outcome.final else { return }
        let (identities, scheduledCount) = (identities, scheduledCount)
        let key = try dedupe.end(
            record.seq, as: final, holdsDevice: record.outcome.holdsDevice, acceptedAt: record.acceptedAt,
            at: decided.time, in: &decided.dedupe,
            delivery: { identities.delivery(of: record.fingerprint, to: record.device).value },
            scheduledKey: { (seq) throws(Lookup.Failure) in
                if scheduledCount == 0 { return nil }
                return try seen.key(of: seq) { (seq) throws(Lookup.Failure) in try lookup.scheduledKey(of: seq) }
            })
        key?.append(to: &decided.rows.endedKeys)
    }

    /// Takes a completed message and removes what only an unfinished one needs.
    mutating func complete<Lookup: LedgerLookup>(
        _ message: CompletedMessage, in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        if !cancels.numbers.isEmpty { cancels.complete(message) }
        let scheduledCount = scheduledCount
        let unscheduled = decided.unscheduled
        let completion = try dedupe.complete(
            message.seq, in: &decided.dedupe,
            scheduledKey: { (seq) throws(Lookup.Failure) in
                if scheduledCount == 0 || unscheduled.contains(seq) { return nil }
                return try lookup.scheduledKey(of: seq)
            },
            hasStoredKey: { (seq) throws(Lookup.Failure) in try lookup.hasStoredKey(of: seq) })
        switch completion {
        case .done:
            decided.backlog.add(message.message.app, waiting: -1)
        case .rowDone(let first):
            decided.backlog.add(message.message.app, waiting: -1)
            decided.rows.removedMessages.append(first)
        case .unscheduled:
            decided.backlog.add(message.message.app, scheduled: -1)
            decided.rows.removedScheduled.append(message.seq)
            decided.unscheduled.insert(message.seq)
        case .unknown: break
        }
        if completion != .unknown, message.message.turn != nil { try endTurn(message, in: &decided, lookup) }
    }

    /// Keeps what was sent for a turn while other turns of the message are not done.
    private func endTurn<Lookup: LedgerLookup>(
        _ message: CompletedMessage, in decided: inout DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) {
        let fingerprint = identities.message(of: message.message.app, id: message.message.id).value
        var isLast = true
        for seq in dedupe.known(fingerprint).messages where isLast {
            isLast = try !isOpen(seq, in: decided, lookup)
        }
        // A cancellation of the same group was decided before the turn was done, and counts it as one that was sent
        // before.
        if let index = decided.cancels.new.firstIndex(where: { $0.cancel.fingerprint == fingerprint }) {
            decided.cancels.new[index].cancel.sentBefore &+= UInt64(message.counts.sent)
        }
        decided.endedTurns.append((fingerprint, isLast ? nil : UInt64(message.counts.sent)))
    }

    /// Returns whether a message of an earlier group is scheduled and not done.
    func isScheduled<Lookup: LedgerLookup>(
        _ seq: UInt64, in decided: borrowing DecidedGroup, _ lookup: Lookup
    ) throws(Lookup.Failure) -> Bool {
        if scheduledCount == 0 || decided.unscheduled.contains(seq) { return false }
        return try lookup.scheduledKey(of: seq) != nil
    }
}
