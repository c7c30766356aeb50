import PushLoop
import PushModel
import PushTime

/// Storing what waits in the parts, in flushes of several parts.
extension PostgreSQLCore {
    /// The maximum weight of a flush. Without it, callers would wait until a backlog of a minute is stored as a whole.
    private static let flushLimit = 8192
    /// The bytes of requests after which no further part is added to a flush. The database takes a section of 256 MiB.
    private static let flushBytes = 32 << 20

    /// Begins a flush of the parts of a lane that have calls.
    func flush(_ lane: LedgerLane) {
        guard let index = lanes.firstIndex(where: { $0 === lane }), lane.isIdle else { return }
        let now = settings.clock()
        var flush = LedgerLane.Flush()
        for part in partsToFlush(of: index) {
            if let entry = decide(part, at: now, appending: &flush.accepted) {
                part.isBusy = true
                part.hasTrimmed = false
                flush.entries.append(entry)
            }
        }
        if !flush.entries.isEmpty { lane.store(flush, now: now) }
    }

    /// Returns the parts of a lane whose calls are stored now, in the order of their numbers. Each flush begins to choose
    /// with another part, so that no part waits for the others when there is too much for one flush.
    private func partsToFlush(of lane: Int) -> [LedgerPart] {
        var chosen: [LedgerPart] = []
        var (weight, bytes) = (0, 0)
        var number = lanes[lane].turn / lanes.count * lanes.count + lane
        if number >= partCount { number = lane }
        lanes[lane].turn = number + lanes.count
        var seen = 0
        var turn = 0
        while seen < partCount, weight < Self.flushLimit, bytes < Self.flushBytes {
            if let part = parts[number], examines(part) {
                trim(part)
            } else if let part = parts[number], part.isUpkeepDue, part.isOpen, !part.isBusy {
                upkeep(part)
            } else if let part = parts[number], part.isWritten, !part.isBusy, !part.waiting.isEmpty {
                weight += part.waiting.weight
                bytes += part.waiting.firstBytes
                chosen.append(part)
            }
            number += lanes.count
            if number >= partCount {
                number = lane
                turn = chosen.count
            }
            seen += lanes.count
        }
        return Array(chosen[turn...] + chosen[..<turn])
    }

    /// Whether old keys of a part are to be examined now. Calls that wait have every other turn.
    private func examines(_ part: LedgerPart) -> Bool {
        part.isTrimDue && part.isOpen && !part.isBusy && (part.waiting.isEmpty || !part.hasTrimmed)
    }

    func flushLane(of part: LedgerPart) { flush(lane(of: part.part)) }

    /// Decides upon the calls of a part. Returns nil if rows must be read before.
    private func decide(
        _ part: LedgerPart, at now: WallTime, appending accepted: inout [AcceptedMessage]
    ) -> LedgerLane.Entry? {
        let group = part.waiting.takeFirst()
        let first = accepted.count
        do throws(MissingRow) {
            defer { part.lookup.isComplete = false }
            let decided = try part.decide(group, at: now, appending: &accepted)
            return LedgerLane.Entry(part, group, decided, accepted: first..<accepted.count)
        } catch {
            part.waiting.putBack(group)
        }
        let needs = PartNeeds(of: group, part.machine, part.lookup)
        if needs.isEmpty {
            // What is missing does not exist.
            part.lookup.isComplete = true
            return decide(part, at: now, appending: &accepted)
        }
        part.isBusy = true
        read(needs, for: part) { [weak self] in
            guard let self else { return }
            isFree(part)
            flushLane(of: part)
        }
        return nil
    }

    func ended(_ flush: LedgerLane.Flush, _ outcome: LedgerLane.Outcome, after time: Duration) {
        for entry in flush.entries { entry.part.isBusy = false }
        switch outcome {
        case .stored(let held): stored(flush, held, after: time)
        case .refused(let reason):
            refused(flush.entries, LedgerFault("cannot write to \(storeName): \(reason)"))
        }
        for entry in flush.entries { workEnded(of: entry.part) }
    }

    private func stored(_ flush: LedgerLane.Flush, _ held: Set<Int>, after time: Duration) {
        health.commits.add(time)
        settings.committed(time)
        if !hasStalledLane {
            healthIs(nil)
            drops.end()
        }
        for entry in flush.entries where held.contains(entry.part.part) {
            // The router does not hear of messages to a part that was closed meanwhile: nothing would end their count.
            if !entry.part.isOpen { entry.decided.activities?.withdraw() }
            entry.part.commit(entry.decided)
            // The backlog of a part that was dropped is not counted any more.
            guard entry.part.phase != .gone else { continue }
            for change in entry.decided.backlog.changes {
                backlogs.add(change.app, waiting: change.waiting, scheduled: change.scheduled)
            }
        }
        publish()
        // One call for the messages of all parts, and one for their events: each call wakes another thread.
        let accepted = flush.accepted(of: { held.contains($0.part.part) && $0.part.isOpen })
        if !accepted.isEmpty { witness?.accepted(accepted) }
        var segments: [LogSegment] = []
        var announced: [LedgerLane.Entry] = []
        var late = 0
        for entry in flush.entries {
            if !held.contains(entry.part.part) {
                // The cluster's machine may know of the loss already, and then says nothing when it hears of this.
                late += 1
                fenced(entry)
            } else if announce(entry) {
                segments += entry.decided.rows.segments.lazy.filter { $0.count > 0 }
                announced.append(entry)
            }
        }
        if !segments.isEmpty { witness?.committed(segments) }
        for entry in announced { entry.group.answerNotes(entry.decided) }
        if late > 0 { settings.refusedLate(late) }
    }

    /// Answers the calls of a group that is stored, as far as the witness carries out its part. Returns whether its
    /// events are to be published now, and its notes to be answered after that.
    private func announce(_ entry: LedgerLane.Entry) -> Bool {
        let (part, group) = (entry.part, entry.group)
        switch part.phase {
        case .serving, .suspended:
            group.answerRequests(entry.decided)
            group.answerCancels(entry.decided, to: witness) { part.machine.announce(entry.decided.cancels) }
            return true
        case .loaded, .opening:
            // Nothing is accepted before a part is opened.
            part.unannounced.append { [weak self] in
                group.announce(entry.decided, to: self?.witness) { part.machine.announce(entry.decided.cancels) }
            }
        case .closing:
            // The messages are those of the next owner, which also ends their cancellations.
            group.answerRequests(entry.decided)
            _ = part.machine.announce(entry.decided.cancels)
            group.answerCancels(entry.decided, to: nil) { [] }
            return true
        case .gone:
            group.answer(entry.decided) {
                _ = part.machine.announce(entry.decided.cancels)
                part.machine.refuseCancels()
            }
        }
        return false
    }

    private func refused(_ entries: [LedgerLane.Entry], _ fault: LedgerFault) {
        for entry in entries {
            entry.part.undo(entry.decided)
            if entry.part.phase == .gone {
                entry.group.refuse(fault)
            } else {
                entry.part.takeBack(entry.group, because: fault)
            }
        }
        if isEnding { dropAwaitedNotes() }
        healthIs(fault)
        boundNotes()
        loop.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self else { return }
            for lane in lanes { flush(lane) }
        }
    }

    /// Another node owns the part: what this node knows about it is of no use any more.
    private func fenced(_ entry: LedgerLane.Entry) {
        let part = entry.part
        let fault = LedgerFault(refusal(of: part.part))
        entry.group.refuse(fault)
        guard part.phase != .gone else { return }
        forget(part, fault)
        if let id = PartitionID(part.part) { settings.lost(id, PartitionEpoch(part.epoch)) }
    }
}
