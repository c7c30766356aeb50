package import PushModel
package import PushTime

extension GatewayMachine {
    // MARK: Inputs

    /// What the look-up for a connection found: addresses without ports.
    package mutating func addressesFound(
        _ found: [String], for id: ConnectionID, now: MonotonicTime
    ) -> [Action] {
        // Not wanted any more meanwhile.
        guard let index = index(of: id), slots[index].phase == .lookingUp else { return [] }
        let chosen = addresses.choose(
            from: found,
            uses: { address in slots.count { $0.isLive && $0.address == address } }, now: now, using: &random)
        guard let chosen else {
            let fault = ConnectionFault(.nameNotFound, "the look-up of the push service gave no address")
            return lookUpFailed(fault, for: id, now: now)
        }
        slots[index].address = chosen
        slots[index].phase = .connecting
        actions.append(.connect(id, address: chosen))
        return settle(now)
    }

    package mutating func lookUpFailed(_ fault: ConnectionFault, for id: ConnectionID, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id), slots[index].phase == .lookingUp else { return [] }
        gone(index, ConnectionEnd(.unreachable, fault), now)
        return settle(now)
    }

    package mutating func ready(_ id: ConnectionID, limit: Int, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id), slots[index].phase == .connecting else { return [] }
        slots[index].phase = .open
        slots[index].limit = max(0, limit)
        actions.append(.raise(.up(id, address: slots[index].address ?? "", streamLimit: limit)))
        hasBeenUp = true
        fault = nil
        // What comes up and then says nothing is found out before anything is entrusted to it, or soon after.
        actions.append(.ping(id))
        load.reset()
        return settle(now)
    }

    /// The peer has answered the PING.
    package mutating func alive(_ id: ConnectionID, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id), slots[index].phase == .open else { return [] }
        if slots[index].aliveSince == nil { slots[index].aliveSince = now }
        if slots[index].epoch == epoch { reached() }
        return settle(now)
    }

    package mutating func limitChanged(_ id: ConnectionID, to limit: Int, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id) else { return [] }
        slots[index].limit = max(0, limit)
        return []
    }

    /// - Parameter disposition: what the reason asks for; `retry` where there is none.
    package mutating func goAway(
        _ id: ConnectionID, reason: ProviderReason?, disposition: Disposition, now: MonotonicTime
    ) -> [Action] {
        guard let index = index(of: id) else { return [] }
        actions.append(.raise(.goAway(id, address: slots[index].address, reason: reason)))
        let slot = slots[index]
        drain(index, now)
        // A second GOAWAY of the same connection says once more what the first said, or for the first time why.
        if slot.isLive || disposition == .halt { judge(disposition, reason, on: slot, now) }
        return settle(now)
    }

    /// It takes no more by its own decision.
    package mutating func retiring(_ id: ConnectionID, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id) else { return [] }
        drain(index, now)
        return settle(now)
    }

    /// It has ended, and everything before it that had reached it. What was handed to it meanwhile still comes back.
    package mutating func closed(
        _ id: ConnectionID, _ end: ConnectionEnd, disposition: Disposition, now: MonotonicTime
    ) -> [Action] {
        guard let index = index(of: id), slots[index].phase != .gone else { return [] }
        let slot = slots[index]
        gone(index, end, now)
        if end.kind == .credential {
            if slot.epoch == epoch { stop(GatewayHalt(.certificate, end.message, reason: end.reason), now) }
        } else if slot.isLive || disposition == .halt {
            // A draining one has been judged by its GOAWAY.
            judge(disposition, end.reason, on: slot, now)
        }
        return settle(now)
    }

    // MARK: Ends

    /// One that answered has shown that connecting works; one that we ended has shown nothing.
    private func countsAsFailure(_ slot: PoolSlot, _ end: ConnectionEnd, _ now: MonotonicTime) -> Bool {
        slot.answered == 0 && !isProven(slot, now) && end.kind != .credential && slot.epoch == epoch
            && slot.phase != .closing && (end.kind != .byUs || slot.isLive)
    }

    /// In an outage attempts go on, of every app, every few seconds, and each fails for the same reason. Of those that
    /// follow the opening of the breaker only each that doubles their number is worth an event: others would fill the log.
    private func saysNothingNew(_ end: ConnectionFault) -> Bool {
        let attempt = failedConnectsInARow + 1
        return breaker.isUnreachable && end.code == fault?.code && attempt & (attempt - 1) != 0
    }

    private func isProven(_ slot: PoolSlot, _ now: MonotonicTime) -> Bool {
        slot.aliveSince.map { now - $0 >= policy.provenAfter } ?? false
    }

    mutating func reached() {
        if breaker.reached() { actions.append(.raise(.breakerClosed)) }
    }

    /// Takes the slot away, and learns from it.
    private mutating func gone(_ index: Int, _ end: ConnectionEnd, _ now: MonotonicTime) {
        let slot = slots[index]
        // Its end was ours, and the reason for it was not.
        let end = slot.fault.map { ConnectionEnd(end.kind, $0) } ?? end
        slots[index].phase = .gone
        if slot.given == 0 { slots.remove(at: index) }
        let isFailure = countsAsFailure(slot, end, now)
        if !(isFailure && slot.isPending && saysNothingNew(end.fault)) {
            actions.append(
                .raise(.down(slot.id, address: slot.address, end, age: now - slot.begunAt, answered: slot.answered)))
        }
        if let address = slot.address, end.kind == .silent || isFailure {
            addresses.failed(address, now: now, random: random.unit())
        }
        if isFailure {
            failedConnectsInARow += 1
            fault = end.fault
            let wait = policy.reconnect.delay(afterFailures: failedConnectsInARow, random: random.unit())
            connectsAgainAt = now + wait
            announce(
                breaker.connectFailed(
                    inARow: failedConnectsInARow, othersAreOpen: slots.contains { $0.phase == .open }, wait: wait))
        } else if slot.epoch == epoch, isProven(slot, now) {
            failedConnectsInARow = 0
            connectsAgainAt = MonotonicTime(nanoseconds: .min)
        }
        breaker.connectionClosed(slot.id)
    }

    mutating func drain(_ index: Int, _ now: MonotonicTime) {
        switch slots[index].phase {
        case .lookingUp:
            slots.remove(at: index)
        case .connecting:
            slots[index].phase = .closing
            actions.append(.close(slots[index].id))
        case .open:
            slots[index].phase = .draining(until: now + policy.drainWithin)
            actions.append(.drain(slots[index].id))
        case .draining, .closing, .gone:
            break
        }
    }

    mutating func drainAll(_ now: MonotonicTime) {
        for index in slots.indices.reversed() { drain(index, now) }
    }

    mutating func closeOverdue(_ now: MonotonicTime) {
        for index in slots.indices {
            guard case .draining(let until) = slots[index].phase, now >= until else { continue }
            slots[index].phase = .closing
            actions.append(.close(slots[index].id))
        }
    }

    mutating func end(_ now: MonotonicTime, atOnce: Bool) {
        mode = .ending
        drainAll(now)
        guard atOnce else { return }
        for index in slots.indices where slots[index].phase != .closing && slots[index].phase != .gone {
            slots[index].phase = .closing
            actions.append(.close(slots[index].id))
        }
    }
}
