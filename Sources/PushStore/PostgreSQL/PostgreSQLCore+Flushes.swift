import PushLoop
import PushModel
import PushTime

/// Storing what waits in the parts, in flushes of several parts.
extension PostgreSQLCore {
    /// The maximum weight of a flush. Without it, callers would wait until a backlog of a minute is stored as a whole.
    private static let flushLimit = 8192

    /// Begins a flush of the parts of a lane that have calls.
    func flush(_ lane: LedgerLane) {
        guard let index = lanes.firstIndex(where: { $0 === lane }), lane.isIdle else { return }
        let now = settings.clock()
        var entries: [LedgerLane.Entry] = []
        var weight = 0
        // Each flush begins with another part, so that no part waits for the others when there is too much for one.
        var number = turns[index] / lanes.count * lanes.count + index
        if number >= partCount { number = index }
        turns[index] = number + lanes.count
        var seen = 0
        while seen < partCount, weight < Self.flushLimit {
            if let part = parts[number], examines(part) {
                trim(part)
            } else if let part = parts[number], part.isUpkeepDue, part.isOpen, !part.isBusy {
                upkeep(part)
            } else if let part = parts[number], part.isWritten, !part.isBusy, !part.waiting.isEmpty,
                let entry = decide(part, at: now)
            {
                weight += entry.group.weight
                part.isBusy = true
                part.hasTrimmed = false
                entries.append(entry)
            }
            number += lanes.count
            if number >= partCount { number = index }
            seen += lanes.count
        }
        if !entries.isEmpty { lane.store(entries, now: now) }
    }

    /// Whether old keys of a part are to be examined now. Calls that wait have every other turn.
    private func examines(_ part: LedgerPart) -> Bool {
        part.isTrimDue && part.isOpen && !part.isBusy && (part.waiting.isEmpty || !part.hasTrimmed)
    }

    func flushLane(of part: LedgerPart) { flush(lane(of: part.part)) }

    /// Decides upon the calls of a part. Returns nil if rows must be read before.
    private func decide(_ part: LedgerPart, at now: WallTime) -> LedgerLane.Entry? {
        let group = exchange(&part.waiting, with: LedgerGroup())
        do throws(MissingRow) {
            defer { part.lookup.isComplete = false }
            return LedgerLane.Entry(part, group, try part.decide(group, at: now))
        } catch {
            part.waiting = group
        }
        let needs = PartNeeds(of: group, part.machine, part.lookup)
        if needs.isEmpty {
            // What is missing does not exist.
            part.lookup.isComplete = true
            return decide(part, at: now)
        }
        part.isBusy = true
        read(needs, for: part) { [weak self] in
            guard let self else { return }
            isFree(part)
            flushLane(of: part)
        }
        return nil
    }

    func ended(_ entries: [LedgerLane.Entry], _ outcome: LedgerLane.Outcome, after time: Duration) {
        for entry in entries { entry.part.isBusy = false }
        switch outcome {
        case .stored(let held): stored(entries, held, after: time)
        case .refused(let reason): refused(entries, LedgerFault("cannot write to \(storeName): \(reason)"))
        }
        for entry in entries { workEnded(of: entry.part) }
    }

    private func stored(_ entries: [LedgerLane.Entry], _ held: Set<Int>, after time: Duration) {
        commits.add(time)
        settings.committed(time)
        if !hasStalledLane {
            healthIs(nil)
            drops.end()
        }
        for entry in entries where held.contains(entry.part.part) {
            entry.part.commit(entry.decided)
            // The backlog of a part that was dropped is not counted any more.
            guard entry.part.phase != .gone else { continue }
            for change in entry.decided.backlog.changes {
                backlogs.add(change.app, waiting: change.waiting, scheduled: change.scheduled)
            }
        }
        publish()
        // One call for the messages of all parts, in the order of their numbers.
        var accepted: [AcceptedMessage] = []
        let sorted = entries.sorted { $0.part.part < $1.part.part }
        for entry in sorted where held.contains(entry.part.part) && entry.part.isOpen {
            accepted += entry.decided.accepted
        }
        if !accepted.isEmpty { witness?.accepted(accepted) }
        for entry in sorted {
            if held.contains(entry.part.part) { announce(entry) } else { fenced(entry) }
        }
    }

    /// Announces a group that is stored, as far as the witness carries out its part. It has the accepted messages of open
    /// parts.
    private func announce(_ entry: LedgerLane.Entry) {
        let (part, group) = (entry.part, entry.group)
        switch part.phase {
        case .serving, .suspended:
            group.announce(entry.decided, to: witness, withMessages: false) {
                part.machine.announce(entry.decided.cancels)
            }
        case .loaded, .opening:
            part.unannounced.append { [weak self] in
                group.announce(entry.decided, to: self?.witness) { part.machine.announce(entry.decided.cancels) }
            }
        case .closing:
            // The messages are those of the next owner, which also ends their cancellations.
            group.answer(entry.decided) { _ = part.machine.announce(entry.decided.cancels) }
            group.publish(entry.decided, to: witness)
        case .gone:
            group.answer(entry.decided) {
                _ = part.machine.announce(entry.decided.cancels)
                part.machine.refuseCancels()
            }
        }
    }

    private func refused(_ entries: [LedgerLane.Entry], _ fault: LedgerFault) {
        for entry in entries {
            entry.part.undo(entry.decided)
            if entry.part.phase == .gone { entry.group.refuse(fault) } else { entry.part.takeBack(entry.group, fault) }
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
