package import PushModel
import PushTime

/// What is to be carried out, and how much of it is held.
extension RouterMachine {
    /// - Parameter isReleased: its time was waited for in the ledger and has come.
    package mutating func accepted(_ accepted: [AcceptedMessage], isReleased: Bool = false) {
        for message in accepted { take(message, isReleased: isReleased) }
    }

    /// What waited when the ledger was opened.
    package mutating func backlog(_ backlog: LedgerBacklog) {
        for (lane, seqs) in backlog.lanes where !seqs.isEmpty {
            let place = place(of: lane.app)
            let lane = self.lane(lane, at: place)
            for seq in seqs {
                lanes[lane].spilled.append(seq)
                newest = max(newest, seq)
            }
            unfinished += seqs.count
            apps[place].isDirty = true
        }
        noteDue(backlog.nextDue)
    }

    private mutating func noteDue(_ time: Int64?) {
        guard let time else { return }
        nextDue = min(nextDue ?? .max, time)
        if isDueAsked { notedDue = min(notedDue ?? .max, time) }
    }

    private mutating func take(_ accepted: AcceptedMessage, isReleased: Bool) {
        newest = max(newest, accepted.seq)
        // Measured at its acceptance, as the ledger does: whether it is in the schedule does not depend on when it is
        // looked at.
        if !isReleased, accepted.isScheduled, let notBefore = accepted.message.notBefore {
            return noteDue(notBefore)
        }
        let place = place(of: accepted.message.app)
        let lane = lane(Lane(of: accepted.message, to: accepted.audience), at: place)
        if droppedApps > 0, hasDropped(place) { endDropping(place) }
        unfinished += 1
        apps[place].isDirty = true
        let message = HeldMessage(accepted, lane: lane)
        guard
            apps[place].hasGate, lanes[lane].spilled.isEmpty, lanes[lane].loading == 0,
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

    /// Returns its place.
    mutating func add(_ message: HeldMessage) -> Int {
        lanes[message.lane].held += 1
        lanes[message.lane].heldBytes += message.cost
        held += 1
        heldBytes += message.cost
        return messages.add(message)
    }

    mutating func release(_ message: Int) {
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

    /// How much of what is still free in the pool a lane may hold, in halves. One that is alone has most of it.
    ///
    /// Lanes that cannot send may still use the pool up between them, each with its share of what the one before it left.
    /// So each lane has a floor of its own besides, and one that is stalled gives back what it has not begun to send.
    private static let shares = [8, 4, 4, 2, 2, 1]

    /// Whether the lane may hold one more message, which takes up that much.
    private func hasRoom(_ lane: Int, for cost: Int) -> Bool {
        if isStalled(lane), unsent(lane) >= policy.load { return false }
        if room(lane) > 0, fits(cost) { return true }
        return apps[place(ofLane: lane)].credit > 0 && fitsFloor(lane, cost)
    }

    /// How many more messages the lane may hold in the pool.
    private func room(_ lane: Int) -> Int {
        let share = Self.shares[lane % LaneTurns.lanes]
        let free = policy.loadedMessages - held - loading
        let freeBytes = policy.loadedBytes - heldBytes
        guard free > 0, lanes[lane].heldBytes == 0 || lanes[lane].heldBytes * 2 < freeBytes * share else { return 0 }
        let own = lanes[lane].held + lanes[lane].loading
        if own == 0 { return max(1, min(free, free * share / 2)) }
        return max(0, min(free, free * share / 2 - own))
    }

    private func fits(_ cost: Int) -> Bool { heldBytes == 0 || heldBytes + cost <= policy.loadedBytes }

    private func fitsFloor(_ lane: Int, _ cost: Int) -> Bool {
        // Field by field: a copy of the line would count all that is in it in and out.
        lanes[lane].held == 0
            || (lanes[lane].held < policy.laneFloor && lanes[lane].heldBytes + cost <= policy.laneFloorBytes)
    }

    /// How many more messages the lane may have read back beyond the pool. None while its gateway takes nothing: lanes
    /// that are down hold what they had, and no more.
    private func floorRoom(_ lane: Int) -> Int {
        guard apps[place(ofLane: lane)].credit > 0 else { return 0 }
        let own = lanes[lane].held + lanes[lane].loading
        let bytes = policy.laneFloorBytes - lanes[lane].heldBytes - lanes[lane].loading * lanes[lane].typicalCost
        let room = min(policy.laneFloor - own, bytes / lanes[lane].typicalCost)
        return max(own == 0 ? 1 : 0, room)
    }

    /// Whether the lane holds messages that it has not been able to send for a while, whatever keeps it: a gateway
    /// without credit, a registry or a ledger that does not answer, or too much under way.
    func isStalled(_ lane: Int) -> Bool { lanes[lane].held > 0 && now >= lanes[lane].movedAt + policy.stalledAfter }

    /// Messages that wait in line, begun or not.
    private func unsent(_ lane: Int) -> Int { lanes[lane].loaded.count + lanes[lane].ready.count }

    /// What a stalled lane holds beyond one load waits on disk: the room is for those that send.
    mutating func putBackUnsent(_ lane: Int) {
        while unsent(lane) > policy.load, let message = lanes[lane].loaded.popLast() { putBack(message, in: lane) }
        for _ in 0..<lanes[lane].ready.count where unsent(lane) > policy.load {
            guard let message = lanes[lane].ready.popLast() else { return }
            // One that looks its devices up stays: what it asked for comes back to it.
            if messages[message].fanOut != nil {
                lanes[lane].ready.prepend(message)
            } else {
                lanes[lane].begun -= 1
                putBack(message, in: lane)
            }
        }
    }

    private mutating func putBack(_ message: Int, in lane: Int) {
        let movedAt = lanes[lane].movedAt
        // One that has had its say in part is read back with what was counted by then: the ledger knows it.
        lanes[lane].spilled.putBack(CollectionOfOne(messages[message].accepted.seq))
        release(message)
        lanes[lane].movedAt = movedAt
    }

    // MARK: Reading back

    mutating func loadIfNeeded(_ lane: Int) {
        guard
            !lanes[lane].spilled.isEmpty, lanes[lane].loading == 0, lanes[lane].loaded.count < policy.loadBelow,
            !ledgerTrouble.holds(at: now)
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

    /// The answer to a request of that lane. Those that are done by now are not among the messages; those after the last
    /// of the messages may be unread, and are asked for again.
    package mutating func loaded(
        _ result: Result<[AcceptedMessage], LedgerFault>, lane: Int, seqs: [UInt64]
    ) {
        lanes[lane].loading -= seqs.count
        loading -= seqs.count
        let place = place(ofLane: lane)
        apps[place].isDirty = true
        switch result {
        case .failure(let fault):
            // The others of them are asked for again: at once, if there is nothing wrong but that.
            let rest = seqs.filter { $0 != fault.damaged?.seq }
            if lookedAt == lane { lanes[lane].spilled.pass(rest) } else { lanes[lane].spilled.putBack(rest) }
            if lookedAt == lane { lookedAt = nil }
            guard let one = fault.damaged, rest.count < seqs.count else {
                return ledgerTrouble.failed(fault.description, now: now, policy.trouble)
            }
            unfinished -= 1
            endDamaged(one, app: apps[place].app, fault)
        case .success(let messages):
            ledgerTrouble.succeeded(now: now)
            let unread = unread(of: seqs, after: messages.last?.seq)
            unfinished -= seqs.count - unread.count - messages.count
            if lookedAt == lane { return looked(at: messages, of: lane, unread: unread) }
            var tooMany: [UInt64] = []
            for message in messages {
                let message = HeldMessage(message, lane: lane)
                lanes[lane].saw(cost: message.cost)
                if tooMany.isEmpty, apps[place].hasGate, mayHold(message.cost, in: lane) {
                    hold(message)
                } else {
                    tooMany.append(message.accepted.seq)
                }
            }
            lanes[lane].spilled.putBack(unread)
            lanes[lane].spilled.putBack(tooMany)
            // Without a gateway it is not for want of room, and no room that is made would wake it.
            if !tooMany.isEmpty, apps[place].hasGate { lanes[lane].fullAt = releases }
        }
    }

    /// Where nothing was read at all, all of them are done.
    private func unread(of seqs: [UInt64], after last: UInt64?) -> [UInt64] {
        guard let last, last != seqs.last, let index = seqs.lastIndex(of: last) else { return [] }
        return Array(seqs[(index + 1)...])
    }

    /// A message that was acknowledged and cannot be carried out ends, and says so.
    private mutating func endDamaged(_ one: DamagedMessage, app: AppID?, _ fault: LedgerFault) {
        damaged += 1
        actions.damaged.append(fault)
        // Without its app no topic could say it: the log does.
        guard let app = one.app ?? app else { return }
        // Where its id is lost with it, its number in the ledger stands for it.
        guard let id = one.id ?? MessageID("damaged-\(one.seq)") else { return }
        actions.completed.append(
            CompletedMessage(
                seq: one.seq, message: Message(id: id, app: app, payload: []), counts: OutcomeCounts(),
                failure: .damaged(fault.description)))
    }

    /// For what was asked for when there was room.
    private func mayHold(_ cost: Int, in lane: Int) -> Bool {
        held < policy.loadedMessages && fits(cost) || fitsFloor(lane, cost)
    }

    /// What has not begun waits on disk while there is no gateway.
    mutating func unload(_ place: Int) {
        for lane in lanesOf(place) {
            while let message = lanes[lane].loaded.popLast() { putBack(message, in: lane) }
        }
    }

    // MARK: The schedule

    mutating func askDue() {
        guard let nextDue, !isDueAsked, nextDue <= wall.seconds, !ledgerTrouble.holds(at: now) else { return }
        isDueAsked = true
        notedDue = nil
        // Whatever is held: those that find no room wait in their lanes by their numbers, and the lanes that can send
        // are not kept from what is due by those that cannot.
        actions.due = RouterActions.DueRequest(time: wall.seconds, limit: policy.load)
    }

    package mutating func due(_ result: Result<DueMessages, LedgerFault>) {
        isDueAsked = false
        switch result {
        case .failure(let fault):
            guard let one = fault.damaged else {
                return ledgerTrouble.failed(fault.description, now: now, policy.trouble)
            }
            // The ledger goes on after it.
            endDamaged(one, app: one.app, fault)
        case .success(let due):
            ledgerTrouble.succeeded(now: now)
            accepted(due.messages, isReleased: true)
            nextDue = due.next
            // The answer may not know of what was accepted meanwhile.
            noteDue(notedDue)
        }
    }
}
