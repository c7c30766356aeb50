package import PushModel
import PushTime

/// The intake of messages, and the decision which of them are in memory.
extension RouterMachine {
    /// Takes accepted messages.
    ///
    /// - Parameter isReleased: Whether the messages were scheduled and are due now.
    package mutating func accepted(_ accepted: [AcceptedMessage], isReleased: Bool = false) {
        let messages = accepted.span
        for index in messages.indices { take(messages[index], isReleased: isReleased) }
    }

    /// Takes the messages that waited when the ledger was opened.
    package mutating func backlog(_ backlog: LedgerBacklog) {
        for (lane, seqs) in backlog.lanes where !seqs.isEmpty {
            let app = index(of: lane.app)
            let isOfActivities = lane.isOfActivities
            let lane = LaneID(app: app, kind: LaneKind(lane))
            if isOfActivities { beginIndexing(lane) }
            var row = 0
            for seq in seqs {
                lanes[lane].spilled.append(seq)
                newest.note(seq)
                let time = backlog.time(of: seq, row: &row, otherwise: wall)
                lanes[lane].waits.add(time, of: seq)
            }
            counts.queued += seqs.count
            apps[app].isDirty = true
        }
        if let time = backlog.nextDue { schedule.note(time) }
        activities.clock.begin(after: backlog.stored)
    }

    /// Takes one message: schedules it, holds it in memory, or leaves it on disk.
    private mutating func take(_ accepted: AcceptedMessage, isReleased: Bool) {
        newest.note(accepted.seq)
        // `isScheduled` was decided when the message was accepted, as in the ledger. A decision by the current time
        // could contradict the schedule of the ledger.
        if !isReleased, accepted.isScheduled, let notBefore = accepted.message.notBefore {
            return schedule.note(notBefore)
        }
        let app = index(of: accepted.message.app)
        let kind = LaneKind(Lane(of: accepted.message, to: accepted.audience))
        let lane = LaneID(app: app, kind: kind)
        if counts.droppedApps > 0, hasDropped(app) { endDrop(of: app) }
        counts.queued += 1
        apps[app].isDirty = true
        let message = HeldMessage(accepted, lane: lane)
        let begin = message.begin
        lanes[lane].waits.add(begin, of: accepted.seq)
        if kind == .activities {
            activities.clock.noteNew(accepted.acceptedAt.unixSeconds, of: accepted.seq)
            noteActivity(of: accepted)
        }
        guard
            apps[app].hasGate, !lanes[lane].isIndexing, lanes[lane].spilled.isEmpty, lanes[lane].memory.loading == 0,
            hasRoom(lane, for: message.cost)
        else {
            lanes[lane].spilled.append(accepted.seq)
            return
        }
        hold(message)
    }

    private mutating func hold(_ message: consuming HeldMessage) {
        let lane = message.lane
        if lanes[lane].memory.held == 0 { lanes[lane].movedAt = now }
        lanes[lane].loaded.append(add(message))
    }

    /// Adds a message to those in memory.
    mutating func add(_ message: consuming HeldMessage) -> MessageHandle {
        budget.hold(message.cost, in: &lanes[message.lane].memory)
        guard message.lane.kind == .activities else { return messages.add(message) }
        return messages.add(addressed(message))
    }

    /// Removes a message from memory.
    mutating func release(_ message: MessageHandle) {
        let lane = messages[message].lane
        let cost = messages[message].cost
        messages.remove(message)
        lanes[lane].movedAt = now
        budget.release(cost, from: &lanes[lane].memory)
    }

    // MARK: Room

    /// Returns whether the lane may hold one more message of this size.
    private func hasRoom(_ lane: LaneID, for cost: Int) -> Bool {
        if isStalled(lane), lanes[lane].unsent >= policy.load { return false }
        return budget.hasRoom(
            for: cost, in: lanes[lane].memory, kind: lane.kind, hasCredit: apps[lane.app].credit > 0)
    }

    /// Returns whether the lane holds messages that it could not send for a while. The cause may be a gateway without
    /// credit, a registry or ledger that does not answer, or too many deliveries under way.
    func isStalled(_ lane: LaneID) -> Bool {
        lanes[lane].memory.held > 0 && now >= lanes[lane].movedAt + policy.stalledAfter
    }

    /// Moves the messages of a stalled lane beyond one load back to disk, so that lanes that send have the room.
    mutating func putBackUnsent(_ lane: LaneID) {
        while lanes[lane].unsent > policy.load, let message = lanes[lane].loaded.popLast() {
            putBack(message, in: lane)
        }
        for _ in 0..<lanes[lane].ready.count where lanes[lane].unsent > policy.load {
            guard let message = lanes[lane].ready.popLast() else { return }
            // A message that looks up devices stays, because an answer will refer to its handle.
            if messages[message].fanOut != nil {
                lanes[lane].ready.prepend(message)
            } else {
                lanes[lane].begun -= 1
                putBack(message, in: lane)
            }
        }
    }

    /// Moves one message back to disk, without counting that as progress of the lane.
    private mutating func putBack(_ message: MessageHandle, in lane: LaneID) {
        let movedAt = lanes[lane].movedAt
        // A partly completed message is read back later with its counts, which the ledger keeps.
        lanes[lane].putBack(CollectionOfOne(messages[message].accepted.seq))
        release(message)
        lanes[lane].movedAt = movedAt
    }

    // MARK: Reading back from disk

    /// Requests the next messages of a lane from disk if it has few in memory and there is room.
    mutating func loadIfNeeded(_ lane: LaneID) {
        guard
            !lanes[lane].spilled.isEmpty, !lanes[lane].isIndexing, lanes[lane].memory.loading == 0,
            lanes[lane].loaded.count < policy.loadBelow,
            !ledgerRetry.isDelayed(at: now)
        else { return }
        var limit = budget.loadLimit(
            of: lanes[lane].memory, kind: lane.kind, hasCredit: apps[lane.app].credit > 0, limit: policy.load)
        if isStalled(lane) { limit = min(limit, policy.load - lanes[lane].unsent) }
        guard limit > 0, !budget.isFull(lanes[lane].memory) else { return budget.requestRoom() }
        load(lanes[lane].spilled.take(limit), into: lane)
    }

    /// Requests messages of a lane from disk.
    mutating func load(_ seqs: [UInt64], into lane: LaneID) {
        budget.beginLoading(seqs.count, into: &lanes[lane].memory)
        lanes[lane].loading = seqs
        actions.loads.append(RouterActions.LoadRequest(lane: lane, seqs: seqs))
    }

    /// Takes the answer to a load request. Messages that are done by now are missing in it. Messages after the last one
    /// that was read may be unread and are requested again.
    package mutating func loaded(
        _ result: Result<[AcceptedMessage], LedgerFault>, lane: LaneID, seqs asked: [UInt64]
    ) {
        budget.endLoading(asked.count, into: &lanes[lane].memory)
        defer { forgetStaleIfNoneIsLeft(in: lane) }
        let app = lane.app
        apps[app].isDirty = true
        lanes[lane].loading = []
        let overtaken = exchange(&lanes[lane].overtaken, with: [])
        let seqs = overtaken.isEmpty ? asked : asked.filter { !overtaken.contains($0) }
        switch result {
        case .failure(let fault):
            // The other messages are requested again, at once if the damaged message is the only problem.
            let rest = seqs.filter { $0 != fault.damaged?.seq }
            if look.lane == lane {
                look.lane = nil
                lanes[lane].spilled.pass(rest)
                lanes[lane].lookedUpTo = PartNumbers()
            } else {
                lanes[lane].putBack(rest)
            }
            guard let one = fault.damaged, !overtaken.contains(one.seq), rest.count < seqs.count else {
                return ledgerRetry.failed(fault.description, at: now, backoff: policy.retryBackoff)
            }
            counts.queued -= 1
            lanes[lane].waits.remove(nil, of: one.seq)
            endDamaged(one, app: apps[app].id, fault: fault)
        case .success(let read):
            ledgerRetry.succeeded(at: now)
            let unread = unread(of: asked, after: read.last?.seq).filter { !overtaken.contains($0) }
            let messages = overtaken.isEmpty ? read : read.filter { !overtaken.contains($0.seq) }
            let doneCount = seqs.count - unread.count - messages.count
            counts.queued -= doneCount
            let (skipped, cancelled) = forgetStale(seqs, unread: unread, read: messages, in: lane)
            if doneCount > skipped.count {
                var done = Set(seqs).subtracting(unread).subtracting(skipped)
                for message in messages { done.remove(message.seq) }
                for seq in done { lanes[lane].waits.remove(nil, of: seq) }
            }
            if look.lane == lane { return looked(at: messages, cancelled, of: lane, unread: unread) }
            hold(messages, unread: unread, in: lane)
        }
    }

    /// Keeps the messages for which there is room.
    private mutating func hold(_ messages: [AcceptedMessage], unread: [UInt64], in lane: LaneID) {
        let app = lane.app
        var tooMany: [UInt64] = []
        for message in messages {
            let message = HeldMessage(message, lane: lane)
            lanes[lane].memory.noteCost(message.cost)
            if tooMany.isEmpty, apps[app].hasGate,
                budget.hasRoom(forLoaded: message.cost, in: lanes[lane].memory)
            {
                hold(message)
            } else {
                tooMany.append(message.accepted.seq)
            }
        }
        lanes[lane].putBack(unread)
        lanes[lane].putBack(tooMany)
        // Without a gateway the reason is not a lack of room, and a release of room would not wake the lane.
        if !tooMany.isEmpty, apps[app].hasGate { budget.markFull(&lanes[lane].memory) }
    }

    /// Returns the numbers after the last message that was read. If no message was read, all of them are done.
    private func unread(of seqs: [UInt64], after last: UInt64?) -> [UInt64] {
        guard let last, last != seqs.last, let index = seqs.lastIndex(of: last) else { return [] }
        return Array(seqs[(index + 1)...])
    }

    /// Completes a message that was acknowledged and cannot be read, with the failure `damaged`.
    private mutating func endDamaged(_ one: DamagedMessage, app: AppID?, fault: LedgerFault) {
        counts.damaged += 1
        activities.cancelled([one.seq])
        actions.damaged.append(fault)
        // Without the app there is no topic for an event. Only the log reports the message.
        guard let app = one.app ?? app else { return }
        // If the id is lost too, an id is made from the message's number in the ledger.
        guard let id = one.id ?? MessageID(Self.damagedID(one.seq)) else { return }
        actions.completed.append(
            CompletedMessage(
                seq: one.seq, message: Message(id: id, app: app, payload: []), counts: OutcomeCounts(),
                failure: .damaged(fault.description)))
    }

    private static func damagedID(_ seq: UInt64) -> String {
        let shown = EventNumber.shown(seq)
        return shown.part == 0 ? "damaged-\(shown.number)" : "damaged-\(shown.part)-\(shown.number)"
    }

    /// Moves messages that are not begun back to disk, because their app has no gateway.
    mutating func unload(_ app: AppIndex) {
        for lane in app.lanes {
            while let message = lanes[lane].loaded.popLast() { putBack(message, in: lane) }
        }
    }

    // MARK: The schedule

    /// Requests the scheduled messages that are due.
    mutating func askDue() {
        guard schedule.isDue(at: wall), !ledgerRetry.isDelayed(at: now) else { return }
        schedule.beginRequest()
        // Due messages are requested without regard to room in memory: those that find none are spilled, and lanes that
        // cannot send do not delay due messages of lanes that can.
        actions.due = RouterActions.DueRequest(time: wall.unixSeconds, limit: policy.load)
    }

    /// Takes the scheduled messages that are due.
    package mutating func due(_ result: Result<DueMessages, LedgerFault>) {
        switch result {
        case .failure(let fault):
            schedule.requestFailed()
            guard let one = fault.damaged else {
                return ledgerRetry.failed(fault.description, at: now, backoff: policy.retryBackoff)
            }
            // The ledger continues after the damaged message.
            endDamaged(one, app: one.app, fault: fault)
        case .success(let due):
            ledgerRetry.succeeded(at: now)
            accepted(due.messages, isReleased: true)
            schedule.requestAnswered(next: due.next)
        }
    }
}
