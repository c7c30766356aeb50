package import PushModel
import PushTime

/// The intake of messages, and the decision which of them are in memory.
extension RouterMachine {
    /// Takes accepted messages.
    ///
    /// - Parameter isReleased: Whether the messages were scheduled and are due now.
    package mutating func accepted(_ accepted: [AcceptedMessage], isReleased: Bool = false) {
        for message in accepted { take(message, isReleased: isReleased) }
    }

    /// Takes the messages that waited when the ledger was opened.
    package mutating func backlog(_ backlog: LedgerBacklog) {
        for (lane, seqs) in backlog.lanes where !seqs.isEmpty {
            let app = index(of: lane.app)
            let lane = LaneID(app: app, kind: LaneKind(lane.priority, isBroad: lane.isBroad))
            for seq in seqs {
                lanes[lane].spilled.append(seq)
                newest = max(newest, seq)
            }
            unfinished += seqs.count
            apps[app].isDirty = true
        }
        noteDue(backlog.nextDue)
    }

    private mutating func noteDue(_ time: Int64?) {
        guard let time else { return }
        nextDue = min(nextDue ?? .max, time)
        if isDueAsked { notedDue = min(notedDue ?? .max, time) }
    }

    /// Takes one message: schedules it, holds it in memory, or leaves it on disk.
    private mutating func take(_ accepted: AcceptedMessage, isReleased: Bool) {
        newest = max(newest, accepted.seq)
        // `isScheduled` was decided when the message was accepted, as in the ledger. A decision by the current time
        // could contradict the schedule of the ledger.
        if !isReleased, accepted.isScheduled, let notBefore = accepted.message.notBefore {
            return noteDue(notBefore)
        }
        let app = index(of: accepted.message.app)
        let kind = LaneKind(
            accepted.message.priority, isBroad: Lane(of: accepted.message, to: accepted.audience).isBroad)
        let lane = LaneID(app: app, kind: kind)
        if droppedApps > 0, hasDropped(app) { endDrop(of: app) }
        unfinished += 1
        apps[app].isDirty = true
        let message = HeldMessage(accepted, lane: lane)
        guard
            apps[app].hasGate, lanes[lane].spilled.isEmpty, lanes[lane].loading == 0,
            hasRoom(lane, for: message.cost)
        else {
            lanes[lane].spilled.append(accepted.seq)
            return
        }
        hold(message)
    }

    private mutating func hold(_ message: HeldMessage) {
        let lane = message.lane
        if lanes[lane].held == 0 { lanes[lane].movedAt = now }
        lanes[lane].loaded.append(add(message))
    }

    /// Adds a message to those in memory.
    mutating func add(_ message: HeldMessage) -> MessageHandle {
        lanes[message.lane].held += 1
        lanes[message.lane].heldBytes += message.cost
        held += 1
        heldBytes += message.cost
        return messages.add(message)
    }

    /// Removes a message from memory.
    mutating func release(_ message: MessageHandle) {
        let lane = messages[message].lane
        let cost = messages[message].cost
        messages.remove(message)
        lanes[lane].movedAt = now
        lanes[lane].held -= 1
        lanes[lane].heldBytes -= cost
        held -= 1
        heldBytes -= cost
        releases &+= 1
    }

    // MARK: Room

    /// The share of the free pool that a lane may hold, in halves, by lane. A lane that is alone may use most of the
    /// pool.
    ///
    /// Lanes that cannot send may still use up the pool together, each with its share of what the others left.
    /// Therefore each lane also has a floor of its own, and a stalled lane gives back messages that it has not begun to
    /// send.
    private static let shares = [8, 4, 4, 2, 2, 1]

    /// Returns whether the lane may hold one more message of this size.
    private func hasRoom(_ lane: LaneID, for cost: Int) -> Bool {
        if isStalled(lane), unsent(lane) >= policy.load { return false }
        if room(lane) > 0, fits(cost) { return true }
        return apps[lane.app].credit > 0 && fitsFloor(lane, for: cost)
    }

    /// Returns the number of further messages that the lane may hold in the pool.
    private func room(_ lane: LaneID) -> Int {
        let share = Self.shares[lane.kind.number]
        let free = policy.loadedMessages - held - loading
        let freeBytes = policy.loadedBytes - heldBytes
        guard free > 0, lanes[lane].heldBytes == 0 || lanes[lane].heldBytes * 2 < freeBytes * share else { return 0 }
        let own = lanes[lane].held + lanes[lane].loading
        if own == 0 { return max(1, min(free, free * share / 2)) }
        return max(0, min(free, free * share / 2 - own))
    }

    private func fits(_ cost: Int) -> Bool { heldBytes == 0 || heldBytes + cost <= policy.loadedBytes }

    private func fitsFloor(_ lane: LaneID, for cost: Int) -> Bool {
        // Single fields are read because a copy of the whole line would retain and release everything in it.
        lanes[lane].held == 0
            || (lanes[lane].held < policy.laneFloor && lanes[lane].heldBytes + cost <= policy.laneFloorBytes)
    }

    /// Returns the number of further messages that the lane may read back beyond the pool. It is 0 while the gateway
    /// has no credit, so that lanes that are down hold no more than they had.
    private func floorRoom(_ lane: LaneID) -> Int {
        guard apps[lane.app].credit > 0 else { return 0 }
        let own = lanes[lane].held + lanes[lane].loading
        let bytes = policy.laneFloorBytes - lanes[lane].heldBytes - lanes[lane].loading * lanes[lane].typicalCost
        let room = min(policy.laneFloor - own, bytes / lanes[lane].typicalCost)
        return max(own == 0 ? 1 : 0, room)
    }

    /// Returns whether the lane holds messages that it could not send for a while. The cause may be a gateway without
    /// credit, a registry or ledger that does not answer, or too many deliveries under way.
    func isStalled(_ lane: LaneID) -> Bool { lanes[lane].held > 0 && now >= lanes[lane].movedAt + policy.stalledAfter }

    /// Returns the number of messages in the lane that wait to be sent, begun or not.
    private func unsent(_ lane: LaneID) -> Int { lanes[lane].loaded.count + lanes[lane].ready.count }

    /// Moves the messages of a stalled lane beyond one load back to disk, so that lanes that send have the room.
    mutating func putBackUnsent(_ lane: LaneID) {
        while unsent(lane) > policy.load, let message = lanes[lane].loaded.popLast() { putBack(message, in: lane) }
        for _ in 0..<lanes[lane].ready.count where unsent(lane) > policy.load {
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
        lanes[lane].spilled.putBack(CollectionOfOne(messages[message].accepted.seq))
        release(message)
        lanes[lane].movedAt = movedAt
    }

    // MARK: Reading back from disk

    /// Requests the next messages of a lane from disk if it has few in memory and there is room.
    mutating func loadIfNeeded(_ lane: LaneID) {
        guard
            !lanes[lane].spilled.isEmpty, lanes[lane].loading == 0, lanes[lane].loaded.count < policy.loadBelow,
            !ledgerRetry.isDelayed(at: now)
        else { return }
        let free = max(0, policy.loadedBytes - heldBytes)
        let byBytes = max(1, free / 4 / lanes[lane].typicalCost)
        var limit = min(policy.load, max(min(room(lane), byBytes), floorRoom(lane)))
        if isStalled(lane) { limit = min(limit, policy.load - unsent(lane)) }
        guard limit > 0, lanes[lane].fullAt != releases else {
            wantsRoom = true
            return
        }
        let seqs = lanes[lane].spilled.take(limit)
        lanes[lane].loading = seqs.count
        loading += seqs.count
        actions.loads.append(RouterActions.LoadRequest(lane: lane, seqs: seqs))
    }

    /// Takes the answer to a load request. Messages that are done by now are missing in it. Messages after the last one
    /// that was read may be unread and are requested again.
    package mutating func loaded(
        _ result: Result<[AcceptedMessage], LedgerFault>, lane: LaneID, seqs: [UInt64]
    ) {
        lanes[lane].loading -= seqs.count
        loading -= seqs.count
        let app = lane.app
        apps[app].isDirty = true
        switch result {
        case .failure(let fault):
            // The other messages are requested again, at once if the damaged message is the only problem.
            let rest = seqs.filter { $0 != fault.damaged?.seq }
            if lookedAt == lane { lanes[lane].spilled.pass(rest) } else { lanes[lane].spilled.putBack(rest) }
            if lookedAt == lane { lookedAt = nil }
            guard let one = fault.damaged, rest.count < seqs.count else {
                return ledgerRetry.failed(fault.description, at: now, backoff: policy.trouble)
            }
            unfinished -= 1
            endDamaged(one, app: apps[app].id, fault: fault)
        case .success(let messages):
            ledgerRetry.succeeded(at: now)
            let unread = unread(of: seqs, after: messages.last?.seq)
            unfinished -= seqs.count - unread.count - messages.count
            if lookedAt == lane { return looked(at: messages, of: lane, unread: unread) }
            var tooMany: [UInt64] = []
            for message in messages {
                let message = HeldMessage(message, lane: lane)
                lanes[lane].noteCost(message.cost)
                if tooMany.isEmpty, apps[app].hasGate, mayHold(message.cost, in: lane) {
                    hold(message)
                } else {
                    tooMany.append(message.accepted.seq)
                }
            }
            lanes[lane].spilled.putBack(unread)
            lanes[lane].spilled.putBack(tooMany)
            // Without a gateway the reason is not a lack of room, and a release of room would not wake the lane.
            if !tooMany.isEmpty, apps[app].hasGate { lanes[lane].fullAt = releases }
        }
    }

    /// Returns the numbers after the last message that was read. If no message was read, all of them are done.
    private func unread(of seqs: [UInt64], after last: UInt64?) -> [UInt64] {
        guard let last, last != seqs.last, let index = seqs.lastIndex(of: last) else { return [] }
        return Array(seqs[(index + 1)...])
    }

    /// Completes a message that was acknowledged and cannot be read, with the failure `damaged`.
    private mutating func endDamaged(_ one: DamagedMessage, app: AppID?, fault: LedgerFault) {
        damaged += 1
        actions.damaged.append(fault)
        // Without the app there is no topic for an event. Only the log reports the message.
        guard let app = one.app ?? app else { return }
        // If the id is lost too, an id is made from the message's number in the ledger.
        guard let id = one.id ?? MessageID("damaged-\(one.seq)") else { return }
        actions.completed.append(
            CompletedMessage(
                seq: one.seq, message: Message(id: id, app: app, payload: []), counts: OutcomeCounts(),
                failure: .damaged(fault.description)))
    }

    /// Returns whether a message that was read back may be held. There was room when it was requested.
    private func mayHold(_ cost: Int, in lane: LaneID) -> Bool {
        held < policy.loadedMessages && fits(cost) || fitsFloor(lane, for: cost)
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
        guard let nextDue, !isDueAsked, nextDue <= wall.seconds, !ledgerRetry.isDelayed(at: now) else { return }
        isDueAsked = true
        notedDue = nil
        // Due messages are requested without regard to room in memory: those that find none are spilled, and lanes that
        // cannot send do not delay due messages of lanes that can.
        actions.due = RouterActions.DueRequest(time: wall.seconds, limit: policy.load)
    }

    /// Takes the scheduled messages that are due.
    package mutating func due(_ result: Result<DueMessages, LedgerFault>) {
        isDueAsked = false
        switch result {
        case .failure(let fault):
            guard let one = fault.damaged else {
                return ledgerRetry.failed(fault.description, at: now, backoff: policy.trouble)
            }
            // The ledger continues after the damaged message.
            endDamaged(one, app: one.app, fault: fault)
        case .success(let due):
            ledgerRetry.succeeded(at: now)
            accepted(due.messages, isReleased: true)
            nextDue = due.next
            // Messages that were accepted after the request may be missing in the answer.
            noteDue(notedDue)
        }
    }
}
