import PushModel
import PushTime

/// The number of connections: opens missing ones, drains surplus ones, and follows the load.
extension GatewayMachine {
    /// Finishes an input: adjusts the number of connections and returns the actions.
    mutating func settle(_ now: MonotonicTime) -> [Action] {
        if isFinished { end(now, atOnce: false) }
        stopWithoutToken(now: now)
        if mode != .ending {
            replaceStale(now)
            drainSurplus(now)
            openMissing(now)
        }
        return takeActions()
    }

    /// The number of connections with the current credential that take deliveries or will.
    var live: Int { slots.count { $0.isLive && $0.epoch == epoch } }

    var target: Int {
        let target =
            switch mode {
            case .running: wanted
            case .halted: waiting > 0 ? max(wanted, 1) : wanted
            case .finishing: waiting > 0 ? max(wanted, 1) : 0
            case .ending: 0
            }
        return trial == nil ? target : min(target, 1)
    }

    // MARK: Opening

    /// Returns the time at which the next connection may be started. Returns nil if none is missing or time alone does
    /// not help.
    func nextOpening(_ now: MonotonicTime) -> MonotonicTime? {
        guard live < target, slots.count < 2 * range.maximum, hasToken, !breaker.forbidsConnecting,
            mayBeginAnother
        else { return nil }
        return max(connectsAgainAt, budget.nextFree(now: now), trial?.dueAt ?? now)
    }

    /// Whether another connection may be started. While attempts fail, only one at a time is made.
    private var mayBeginAnother: Bool {
        (failedConnectsInARow == 0 && !breaker.isHalfOpen) || !slots.contains { $0.isPending }
    }

    private mutating func openMissing(_ now: MonotonicTime) {
        while let moment = nextOpening(now), moment <= now, budget.take(now: now) {
            lastID &+= 1
            let id = ConnectionID(lastID)
            slots.append(PoolSlot(id: id, epoch: epoch, token: tokens.current ?? 0, now: now))
            slots[slots.count - 1].isQuiet = trial?.isQuiet ?? false
            connects += 1
            actions.append(.lookUp(id))
        }
    }

    // MARK: Draining

    /// Replaces connections of an older credential: each new connection that is open lets an old one drain, and the
    /// full number lets all of them drain.
    private mutating func replaceStale(_ now: MonotonicTime) {
        guard rotates else { return }
        var stale = slots.count { $0.isLive && $0.epoch != epoch }
        let fresh = slots.count { $0.phase == .open && $0.epoch == epoch }
        let kept = max(0, target - fresh)
        while stale > kept, let index = leastUsed(where: { $0.isLive && $0.epoch != epoch }) {
            drain(at: index, now: now)
            stale -= 1
        }
        if stale == 0 { rotates = false }
    }

    private mutating func drainSurplus(_ now: MonotonicTime) {
        guard mode == .running else { return }
        var surplus = live - wanted
        while surplus > 0 {
            // Pending connections are closed first, since they have no deliveries.
            guard
                let index = slots.lastIndex(where: { $0.isPending && $0.epoch == epoch })
                    ?? leastUsed(where: { $0.isLive && $0.epoch == epoch })
            else { return }
            drain(at: index, now: now)
            surplus -= 1
        }
    }

    /// Returns the connection with the fewest deliveries; among equals, the youngest.
    private func leastUsed(where isMeant: (PoolSlot) -> Bool) -> Int? {
        var best: Int?
        for index in slots.indices where isMeant(slots[index]) {
            if let least = best, slots[index].given > slots[least].given { continue }
            best = index
        }
        return best
    }

    // MARK: Growing and shrinking

    var mayGrow: Bool {
        wanted < range.maximum && trial == nil && breaker.isClosed && live >= wanted && !slots.contains { $0.isPending }
            // The peer may allow more streams to a connection after its first answer.
            && slots.allSatisfy { $0.phase != .open || $0.answered > 0 }
    }

    var mayShrink: Bool { wanted > range.minimum && trial == nil }

    mutating func growOrShrink(_ now: MonotonicTime) {
        guard mode == .running else { return }
        if mayGrow, let since = load.busySince, now >= since + policy.growAfter {
            wanted += 1
            load.reset()
            announceScale(.busy)
        } else if mayShrink, let since = load.quietSince, now >= since + policy.shrinkAfter {
            wanted -= 1
            load.reset()
            announceScale(.idle)
        }
    }

    /// Measures the load. Called when deliveries have just been handed out.
    mutating func observeLoad(_ now: MonotonicTime) {
        var streams = 0
        var used = 0
        var open = 0
        for slot in slots where slot.phase == .open {
            streams += slot.limit
            used += slot.given
            open += 1
        }
        guard open > 0, streams > 0 else { return load.reset() }
        let without = wanted > 1 ? Double(streams) * Double(open - 1) / Double(open) : 0
        let busyWithout: Double? =
            if without > 0 { Double(used) / without } else { wanted == 1 && used == 0 ? 0 : nil }
        load.observe(busy: Double(used) / Double(streams), busyWithout: busyWithout, policy: policy, now: now)
    }

    mutating func announceScale(_ cause: GatewayEvent.ScaleCause) {
        actions.append(
            .raise(.scaled(cause, connections: wanted, minimum: range.minimum, maximum: range.maximum)))
    }
}
