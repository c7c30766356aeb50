package import PushModel

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
            for seq in seqs { lanes[lane].spilled.append(seq) }
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
        // Measured at its acceptance, as the ledger does: whether it is in the schedule does not depend on when it is
        // looked at.
        if !isReleased, accepted.isScheduled, let notBefore = accepted.message.notBefore {
            return noteDue(notBefore)
        }
        let place = place(of: accepted.message.app)
        let lane = lane(Lane(of: accepted.message, to: accepted.audience), at: place)
        unfinished += 1
        apps[place].isDirty = true
        let cost = HeldMessage.cost(of: accepted)
        guard
            apps[place].hasGate, lanes[lane].spilled.isEmpty, lanes[lane].loading == 0,
            room(lane) > 0, fits(cost)
        else {
            lanes[lane].spilled.append(accepted.seq)
            return
        }
        hold(accepted, in: lane, cost: cost)
    }

    private mutating func hold(_ accepted: AcceptedMessage, in lane: Int, cost: Int) {
        let message = messages.add(HeldMessage(accepted, lane: lane, cost: cost))
        lanes[lane].loaded.append(message)
        lanes[lane].held += 1
        lanes[lane].heldBytes += cost
        held += 1
        heldBytes += cost
    }

    mutating func release(_ message: Int) {
        let lane = messages[message].lane
        let cost = messages[message].cost
        messages.remove(message)
        lanes[lane].held -= 1
        lanes[lane].heldBytes -= cost
        held -= 1
        heldBytes -= cost
        releases &+= 1
    }

    // MARK: Room

    /// How much of what is still free a lane may hold, in halves. So no lane can take what the others need, whatever it
    /// holds and for however long, and one that is alone has most of it.
    private static let shares = [8, 4, 4, 2, 2, 1]

    /// How many more messages the lane may hold.
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

    // MARK: Reading back

    mutating func loadIfNeeded(_ lane: Int) {
        guard
            !lanes[lane].spilled.isEmpty, lanes[lane].loading == 0, lanes[lane].loaded.count < policy.loadBelow,
            !ledgerTrouble.holds(at: now)
        else { return }
        let free = max(0, policy.loadedBytes - heldBytes)
        let byBytes = max(1, free / 4 / lanes[lane].typicalCost)
        let limit = min(policy.load, room(lane), byBytes)
        guard limit > 0, lanes[lane].fullAt != releases else {
            wantsRoom = true
            return
        }
        let seqs = lanes[lane].spilled.take(limit)
        lanes[lane].loading = seqs.count
        loading += seqs.count
        actions.loads.append(RouterActions.LoadRequest(lane: lane, seqs: seqs))
    }

    /// The answer to a request of that lane. Those that are done by now are not among the messages.
    package mutating func loaded(
        _ result: Result<[AcceptedMessage], LedgerFault>, lane: Int, seqs: [UInt64]
    ) {
        lanes[lane].loading -= seqs.count
        loading -= seqs.count
        let place = place(ofLane: lane)
        apps[place].isDirty = true
        switch result {
        case .failure(let fault):
            ledgerTrouble.failed(fault.description, now: now, policy.trouble)
            lanes[lane].spilled.putBack(seqs)
        case .success(let messages):
            ledgerTrouble.succeeded(now: now)
            unfinished -= seqs.count - messages.count
            var tooMany: [UInt64] = []
            for message in messages {
                let cost = HeldMessage.cost(of: message)
                lanes[lane].saw(cost: cost)
                if tooMany.isEmpty, apps[place].hasGate, held < policy.loadedMessages, fits(cost) {
                    hold(message, in: lane, cost: cost)
                } else {
                    tooMany.append(message.seq)
                }
            }
            lanes[lane].spilled.putBack(tooMany)
            if !tooMany.isEmpty { lanes[lane].fullAt = releases }
        }
    }

    /// What has not begun waits on disk while there is no gateway.
    mutating func unload(_ place: Int) {
        for lane in place * LaneTurns.lanes..<(place + 1) * LaneTurns.lanes {
            while let message = lanes[lane].loaded.popLast() {
                // One that has had its say in part is read back with what was counted by then: the ledger knows it.
                lanes[lane].spilled.putBack(CollectionOfOne(messages[message].accepted.seq))
                release(message)
            }
        }
    }

    // MARK: The schedule

    mutating func askDue() {
        guard let nextDue, !isDueAsked, nextDue <= wall.seconds, !ledgerTrouble.holds(at: now) else { return }
        let limit = min(policy.load, policy.loadedMessages - held - loading)
        guard limit > 0 else { return }
        isDueAsked = true
        notedDue = nil
        actions.due = RouterActions.DueRequest(time: wall.seconds, limit: limit)
    }

    package mutating func due(_ result: Result<DueMessages, LedgerFault>) {
        isDueAsked = false
        switch result {
        case .failure(let fault): ledgerTrouble.failed(fault.description, now: now, policy.trouble)
        case .success(let due):
            ledgerTrouble.succeeded(now: now)
            accepted(due.messages, isReleased: true)
            nextDue = due.next
            // The answer may not know of what was accepted meanwhile.
            noteDue(notedDue)
        }
    }
}
