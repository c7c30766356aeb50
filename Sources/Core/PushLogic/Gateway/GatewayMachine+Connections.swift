package import PushModel
package import PushTime

extension GatewayMachine {
    // MARK: Inputs

    /// Takes the addresses, without ports, that the look-up for a connection found.
    package mutating func addressesFound(
        _ found: [String], for id: ConnectionID, now: MonotonicTime
    ) -> [Action] {
        // The connection may have been drained meanwhile.
        guard let index = index(of: id), slots[index].phase == .lookingUp else { return [] }
        let chosen = addresses.choose(
            from: found,
            uses: { address in slots.count { $0.isLive && $0.address == address } }, now: now, using: &random)
        guard let chosen else {
            let fault = ConnectionFault(.nameNotFound, sentence: "the look-up of the push service returned no address")
            return lookUpFailed(fault, for: id, now: now)
        }
        slots[index].address = chosen
        slots[index].phase = .connecting
        actions.append(.connect(id, address: chosen))
        return settle(now)
    }

    package mutating func lookUpFailed(_ fault: ConnectionFault, for id: ConnectionID, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id), slots[index].phase == .lookingUp else { return [] }
        remove(at: index, after: ConnectionEnd(.unreachable, fault: fault), now: now)
        return settle(now)
    }

    package mutating func ready(_ id: ConnectionID, limit: Int, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id), slots[index].phase == .connecting else { return [] }
        slots[index].phase = .open
        slots[index].limit = max(0, limit)
        if !slots[index].isQuiet { actions.append(.raise(slots[index].up)) }
        hasBeenUp = true
        if trial == nil { fault = nil }
        // The PING finds connections that come up and never answer, before or soon after they have deliveries.
        actions.append(.ping(id))
        load.reset()
        return settle(now)
    }

    /// Records that the peer answered the PING.
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

    /// Takes a GOAWAY and drains the connection.
    ///
    /// - Parameter disposition: The effect of the reason; `retry` if there is none.
    package mutating func goAway(
        _ id: ConnectionID, reason: ProviderReason?, disposition: Disposition, now: MonotonicTime
    ) -> [Action] {
        guard let index = index(of: id) else { return [] }
        actions.append(.raise(.goAway(id, address: slots[index].address, reason: reason)))
        let slot = slots[index]
        drain(at: index, now: now)
        // A second GOAWAY of a connection repeats the first or adds its reason, so only a halt has an effect.
        if slot.isLive || disposition == .halt { judge(disposition, reason: reason, on: slot, now: now) }
        return settle(now)
    }

    /// Takes a connection that accepts no more deliveries by its own decision.
    package mutating func retiring(_ id: ConnectionID, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id) else { return [] }
        drain(at: index, now: now)
        return settle(now)
    }

    /// Takes the end of a connection, after the outcomes of the deliveries that had reached it. Deliveries that were
    /// handed to it since then still come back.
    package mutating func closed(
        _ id: ConnectionID, end: ConnectionEnd, disposition: Disposition, now: MonotonicTime
    ) -> [Action] {
        guard let index = index(of: id), slots[index].phase != .gone else { return [] }
        let slot = slots[index]
        remove(at: index, after: end, now: now)
        if end.kind == .credential {
            if slot.epoch == epoch {
                stop(GatewayHalt(.certificate, message: end.message, reason: end.reason), now: now)
            }
        } else if slot.isLive || disposition == .halt {
            // The GOAWAY of a draining connection was judged already.
            judge(disposition, reason: end.reason, on: slot, now: now)
        }
        return settle(now)
    }

    // MARK: Ends of connections

    /// Returns whether the end of a connection counts as a failure to connect. A connection that answered has shown
    /// that connecting works; a connection that this side closed shows nothing.
    private func countsAsFailure(_ end: ConnectionEnd, of slot: PoolSlot, now: MonotonicTime) -> Bool {
        slot.answered == 0 && !isProven(slot, now: now) && end.kind != .credential && slot.epoch == epoch
            && slot.phase != .closing && (end.kind != .byUs || slot.isLive)
    }

    /// Returns whether an event would only repeat known failures. In an outage every app tries to connect every few
    /// seconds and fails for the same reason. After the breaker has opened, only an attempt whose number is a power of
    /// two is reported, so that the log is not flooded.
    private func isKnownFailure(_ end: ConnectionFault) -> Bool {
        let attempt = failedConnectsInARow + 1
        return breaker.isUnreachable && end.code == fault?.code && attempt & (attempt - 1) != 0
    }

    private func isProven(_ slot: PoolSlot, now: MonotonicTime) -> Bool {
        slot.aliveSince.map { now - $0 >= policy.provenAfter } ?? false
    }

    mutating func reached() {
        if breaker.reached() { actions.append(.raise(.breakerClosed)) }
    }

    /// Removes a connection and draws conclusions from its end.
    private mutating func remove(at index: Int, after end: ConnectionEnd, now: MonotonicTime) {
        let slot = slots[index]
        // If this side closed the connection because of a fault, that fault is the reason.
        let end = slot.fault.map { ConnectionEnd(end.kind, fault: $0) } ?? end
        slots[index].phase = .gone
        if slot.given == 0 { slots.remove(at: index) }
        let isFailure = countsAsFailure(end, of: slot, now: now)
        if !slot.isQuiet, !(isFailure && slot.isPending && isKnownFailure(end.fault)) {
            actions.append(
                .raise(.down(slot.id, address: slot.address, end, age: now - slot.begunAt, answered: slot.answered)))
        }
        // The legacy protocol ends a connection for each bad token. That is no reason to connect more slowly.
        if end.kind == .errorPacket { budget.giveBack() }
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
                    inARow: failedConnectsInARow, othersAreOpen: slots.contains { $0.phase == .open }, wait: wait,
                    now: now))
        } else if slot.epoch == epoch, isProven(slot, now: now) {
            failedConnectsInARow = 0
            connectsAgainAt = MonotonicTime(nanoseconds: .min)
        }
        breaker.connectionClosed(slot.id)
    }

    mutating func drain(at index: Int, now: MonotonicTime) {
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

    mutating func drainAll(now: MonotonicTime) {
        for index in slots.indices.reversed() { drain(at: index, now: now) }
    }

    mutating func closeOverdue(now: MonotonicTime) {
        for index in slots.indices {
            guard case .draining(let until) = slots[index].phase, now >= until else { continue }
            slots[index].phase = .closing
            actions.append(.close(slots[index].id))
        }
    }

    mutating func end(_ now: MonotonicTime, atOnce: Bool) {
        mode = .ending
        drainAll(now: now)
        guard atOnce else { return }
        for index in slots.indices where slots[index].phase != .closing && slots[index].phase != .gone {
            slots[index].phase = .closing
            actions.append(.close(slots[index].id))
        }
    }
}
