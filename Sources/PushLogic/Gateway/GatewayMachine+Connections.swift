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
            return lookUpFailed("the look-up gave no address", for: id, now: now)
        }
        slots[index].address = chosen
        slots[index].phase = .connecting
        actions.append(.connect(id, address: chosen))
        return settle(now)
    }

    package mutating func lookUpFailed(_ message: String, for id: ConnectionID, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id), slots[index].phase == .lookingUp else { return [] }
        gone(index, ConnectionEnd(.unreachable, message), now)
        return settle(now)
    }

    package mutating func ready(_ id: ConnectionID, limit: Int, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id), slots[index].phase == .connecting else { return [] }
        slots[index].phase = .open
        slots[index].limit = max(0, limit)
        actions.append(.raise(.up(id, address: slots[index].address ?? "", streamLimit: limit)))
        load.reset()
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
        judge(disposition, reason, on: slot, now)
        return settle(now)
    }

    /// It takes no more by its own decision.
    package mutating func retiring(_ id: ConnectionID, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id) else { return [] }
        drain(index, now)
        return settle(now)
    }

    /// It has ended, and everything that it was given before it.
    package mutating func closed(
        _ id: ConnectionID, _ end: ConnectionEnd, disposition: Disposition, now: MonotonicTime
    ) -> [Action] {
        guard let index = index(of: id) else { return [] }
        precondition(slots[index].given == 0, "connection \(id) has closed and keeps \(slots[index].given) deliveries")
        let slot = slots[index]
        gone(index, end, now)
        if end.kind == .credential {
            if slot.epoch == epoch { stop(GatewayHalt(.certificate, end.message, reason: end.reason), now) }
        } else if slot.isLive {
            // A draining one has been judged by its GOAWAY.
            judge(disposition, end.reason, on: slot, now)
        }
        return settle(now)
    }

    // MARK: Ends

    /// One that answered has shown that connecting works; one that we ended has shown nothing.
    private func countsAsFailure(_ slot: PoolSlot, _ end: ConnectionEnd) -> Bool {
        slot.answered == 0 && end.kind != .byUs && end.kind != .credential && slot.epoch == epoch
            && slot.phase != .closing
    }

    /// Takes the slot away, and learns from it.
    private mutating func gone(_ index: Int, _ end: ConnectionEnd, _ now: MonotonicTime) {
        let slot = slots.remove(at: index)
        actions.append(
            .raise(.down(slot.id, address: slot.address, end, age: now - slot.begunAt, answered: slot.answered)))
        let isFailure = countsAsFailure(slot, end)
        if let address = slot.address, end.kind == .silent || isFailure {
            addresses.failed(address, now: now, random: random.unit())
        }
        if isFailure {
            failedConnectsInARow += 1
            connectsAgainAt = now + policy.reconnect.delay(afterFailures: failedConnectsInARow, random: random.unit())
            let opened = breaker.connectFailed(
                inARow: failedConnectsInARow, othersAreOpen: slots.contains { $0.phase == .open }, now: now,
                random: random.unit())
            announce(opened)
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
        case .draining, .closing:
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
        for index in slots.indices where slots[index].phase != .closing {
            slots[index].phase = .closing
            actions.append(.close(slots[index].id))
        }
    }
}
