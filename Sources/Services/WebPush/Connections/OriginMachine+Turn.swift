import PushModel
import PushTime

/// What a pool does at the end of a tick: it hands out deliveries, opens and closes connections, and gives back what an
/// origin cannot take.
extension OriginMachine {
    /// The time after which waiting deliveries are looked through for expired ones.
    private static let sweepInterval: Duration = .seconds(5)

    /// The use of what the origins share, during a turn.
    private struct Shared {
        var places = 0
        /// The connections that are closing, whose places will be free.
        var closing = 0
        /// The origins that wait for a place.
        var wanting = 0
    }

    /// Decides what to do now, and returns it together with what the inputs have caused.
    mutating func turn(now: MonotonicTime, at time: WallTime) -> [Action] {
        if phase == .running, !active.isEmpty {
            if let sweepAt, sweepAt <= now { sweep(at: time) }
            var shared = Shared()
            for index in active {
                for link in slots[index].links where link.phase != .gone {
                    shared.places += 1
                    if link.phase == .closing { shared.closing += 1 }
                }
                if slots[index].lookUp != nil { shared.places += 1 }
            }
            waitingAtStalled = 0
            // Each turn begins with another origin, so that each gets its share of what is scarce.
            turnNumber &+= 1
            let start = turnNumber % active.count
            for step in 0..<active.count {
                settle(active[(start + step) % active.count], sharing: &shared, now: now, at: time)
            }
            sweepAt = active.contains { !slots[$0].waiting.isEmpty } ? sweepAt ?? now + Self.sweepInterval : nil
        }
        offer(now: now)
        active.removeAll { index in
            slots[index].isActive = !slots[index].isIdle
            return !slots[index].isActive
        }
        let taken = actions
        if !taken.isEmpty { actions = [] }
        return taken
    }

    /// Decides what the owner may hand over, in steps, because it is told of each change.
    private mutating func offer(now: MonotonicTime) {
        var held = 0
        var quiet = 0
        for index in active {
            let ofOrigin = slots[index].held
            held += ofOrigin
            if slots[index].isQuiet(after: limits.quietAfter, now: now) { quiet += ofOrigin }
        }
        let step = max(1, limits.credit / 4)
        offered = max(limits.credit, min(limits.credit + quiet / step * step, limits.maxCredit))
        isShort = offered == limits.maxCredit && held >= offered
    }

    private mutating func settle(_ index: Int, sharing shared: inout Shared, now: MonotonicTime, at time: WallTime) {
        slots[index].health.timePassed(now: now)
        if let lookUp = slots[index].lookUp, lookUp.until <= now {
            slots[index].lookUp = nil
            shared.places -= 1
            let host = slots[index].origin.host
            let fault = ConnectionFault(
                .timedOut, sentence: "timed out: \(host) was not looked up within \(limits.lookUpTimeout)")
            connectFailed(index, because: fault, now: now)
        }
        returnSurplus(index, now: now, at: time)
        handOut(index, at: time)
        openMissing(index, sharing: &shared, now: now)
        for at in slots[index].links.indices {
            let link = slots[index].links[at]
            if link.phase == .open, link.given == 0, link.idleSince + limits.idle <= now {
                drain(link: at, of: index, sharing: &shared)
            }
        }
        if isInDoubt(index, now: now) { waitingAtStalled += slots[index].waiting.count }
    }

    /// Gives back the waiting deliveries that the origin will not take soon.
    private mutating func returnSurplus(_ index: Int, now: MonotonicTime, at time: WallTime) {
        guard !slots[index].waiting.isEmpty else { return }
        if let until = slots[index].barredUntil, now < until {
            returnWaiting(index, behind: 0, at: time) { _ in (.privateAddress, nil) }
        } else if let until = slots[index].health.opensUntil {
            returnWaiting(index, behind: 0, at: time) {
                ($0.slots[index].unavailable, $0.pause(until: until, now: now))
            }
        } else if slots[index].given == 0, !slots[index].isConnecting,
            slots[index].isStalled(after: limits.lookUpTimeout, now: now)
        {
            // It waits for a place, a look-up or another attempt, and others might be waiting for the credit.
            returnWaiting(index, behind: 0, at: time) { ($0.slots[index].busy, $0.busyPause()) }
        } else if slots[index].waiting.count > limits.waitingAtStalled, isInDoubt(index, now: now) {
            returnWaiting(index, behind: limits.waitingAtStalled, at: time) { ($0.slots[index].busy, $0.busyPause()) }
        }
    }

    private mutating func returnWaiting(
        _ index: Int, behind count: Int, at time: WallTime,
        as refusal: (inout Self) -> (ProviderReason, retryAfter: Int?)
    ) {
        var kept: [Delivery] = []
        for _ in 0..<count { if let delivery = slots[index].waiting.popFirst() { kept.append(delivery) } }
        while let delivery = slots[index].waiting.popFirst() {
            if delivery.mayBegin(at: time) {
                let (reason, retryAfter) = refusal(&self)
                refuse(delivery, as: reason, retryAfter: retryAfter)
            } else {
                end(delivery, as: .notProcessed)
            }
        }
        slots[index].waiting.prepend(kept)
    }

    private mutating func handOut(_ index: Int, at time: WallTime) {
        var room = slots[index].room
        for at in slots[index].links.indices where slots[index].links[at].phase == .open {
            let link = slots[index].links[at]
            let count = min(room, link.limit - link.given)
            guard count > 0, !slots[index].waiting.isEmpty else { continue }
            var late: [Delivery] = []
            let batch = slots[index].waiting.take(upTo: count, at: time) { late.append($0) }
            for delivery in late { end(delivery, as: .notProcessed) }
            guard !batch.isEmpty else { continue }
            slots[index].links[at].given += batch.count
            room -= batch.count
            actions.append(.deliver(link.id, batch))
        }
    }

    // MARK: Connections

    private mutating func openMissing(_ index: Int, sharing shared: inout Shared, now: MonotonicTime) {
        let slot = slots[index]
        guard !slot.waiting.isEmpty, slot.room > 0, !slot.isConnecting, slot.live < limits.connectionsOfOrigin,
            slot.links.allSatisfy({ $0.phase != .open || $0.given >= $0.limit }), slot.health.connectsAt ?? now <= now
        else { return }
        // A connection whose peer allows nothing is not helped by another one.
        guard !slot.links.contains(where: { $0.phase == .open && $0.limit == 0 }) else { return }
        guard shared.places < limits.connections else {
            shared.wanting += 1
            if shared.wanting > shared.closing { drainIdle(&shared) }
            return
        }
        guard lookUpsRunning < limits.lookUps else { return }
        lookUpsRunning += 1
        shared.places += 1
        lastLookUp &+= 1
        slots[index].lookUp = OriginSlot.LookUp(number: lastLookUp, until: now + limits.lookUpTimeout)
        actions.append(.lookUp(lastLookUp, slot.origin))
    }

    /// Closes the connection that has been idle for the longest time, if there is one.
    private mutating func drainIdle(_ shared: inout Shared) {
        var found: (slot: Int, link: Int, since: MonotonicTime)?
        for index in active {
            for at in slots[index].links.indices {
                let link = slots[index].links[at]
                guard link.phase == .open, link.given == 0 else { continue }
                if let since = found?.since, since <= link.idleSince { continue }
                found = (index, at, link.idleSince)
            }
        }
        if let found { drain(link: found.link, of: found.slot, sharing: &shared) }
    }

    private mutating func drain(link at: Int, of index: Int, sharing shared: inout Shared) {
        slots[index].links[at].phase = .closing
        shared.closing += 1
        actions.append(.drain(slots[index].links[at].id))
    }

    // MARK: Time

    private mutating func sweep(at time: WallTime) {
        sweepAt = nil
        for index in active {
            var late: [Delivery] = []
            slots[index].waiting.removeExpired(at: time) { late.append($0) }
            for delivery in late { end(delivery, as: .notProcessed) }
        }
    }

    /// The time of the next turn, if nothing happens before it.
    func nextDeadline(now: MonotonicTime) -> MonotonicTime? {
        guard phase == .running else { return nil }
        var next = sweepAt ?? .distantFuture
        for index in active {
            if let lookUp = slots[index].lookUp { next = min(next, lookUp.until) }
            if !slots[index].waiting.isEmpty {
                if let time = slots[index].health.connectsAt, time > now { next = min(next, time) }
                if slots[index].waiting.count > limits.waitingAtStalled {
                    let quietAt = slots[index].progressAt + limits.quietAfter
                    let stalledAt = slots[index].progressAt + patience
                    if quietAt > now {
                        next = min(next, quietAt)
                    } else if stalledAt > now {
                        next = min(next, stalledAt)
                    }
                }
            }
            for link in slots[index].links where link.phase == .open && link.given == 0 {
                next = min(next, link.idleSince + limits.idle)
            }
        }
        return next == .distantFuture ? nil : next
    }
}
