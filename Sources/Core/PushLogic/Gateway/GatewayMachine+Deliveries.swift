package import PushModel
package import PushTime

/// The distribution of deliveries to connections, the credit for the owner, and the evaluation of answers.
extension GatewayMachine {
    package struct Assignment: Equatable, Sendable {
        package let connection: ConnectionID
        package let count: Int

        package init(connection: ConnectionID, count: Int) {
            self.connection = connection
            self.count = count
        }
    }

    /// Returns how the waiting deliveries are to be distributed. The caller reports each hand-over with ``gave(_:to:)``
    /// and finishes with ``handedOut(waiting:now:)``.
    package mutating func assignments(waiting: Int, now: MonotonicTime) -> [Assignment] {
        self.waiting = waiting
        guard waiting > 0, !isPaused, mode != .ending, !breaker.isOpen else { return [] }
        if trial != nil { return trialAssignment(now) }
        if breaker.isHalfOpen {
            guard breaker.wantsProbe,
                let slot = slots.filter({ room($0) > 0 }).min(by: { $0.given < $1.given })
            else { return [] }
            return [Assignment(connection: slot.id, count: 1)]
        }
        let rooms = slots.reduce(0) { $0 + room($1) }
        guard rooms > 0 else { return [] }
        if waiting >= rooms {
            return slots.compactMap { slot in
                room(slot) > 0 ? Assignment(connection: slot.id, count: room(slot)) : nil
            }
        }
        return spread(waiting)
    }

    package mutating func gave(_ count: Int, to id: ConnectionID) {
        guard count > 0 else { return }
        guard let index = index(of: id), slots[index].phase == .open else {
            preconditionFailure("deliveries were handed to connection \(id), which is not open")
        }
        slots[index].given += count
        if breaker.isHalfOpen { breaker.probeGiven(to: id) }
        trial?.connection = id
    }

    /// Finishes a distribution.
    ///
    /// - Parameter waiting: The number of deliveries that are left in the queue.
    package mutating func handedOut(waiting: Int, now: MonotonicTime) -> [Action] {
        self.waiting = waiting
        if waiting > 0, wanted == 0, mode == .running { wanted = 1 }
        observeLoad(now)
        growOrShrink(now)
        return settle(now)
    }

    /// Adds deliveries that came back from a connection to the number of those that wait. Called before
    /// ``ended(_:on:now:)``, which would otherwise use an old number and could end a gateway that is to finish.
    package mutating func requeued(_ count: Int) { waiting += count }

    /// Takes a batch of deliveries that ended on a connection.
    package mutating func ended(_ tally: AnswerTally, on id: ConnectionID, now: MonotonicTime) -> [Action] {
        guard let index = index(of: id), slots[index].given >= tally.ended else {
            preconditionFailure("connection \(id) ended \(tally.ended) deliveries but was given fewer")
        }
        slots[index].given -= tally.ended
        if tally.answers > 0 {
            if slots[index].answered == 0, let address = slots[index].address { addresses.answered(address) }
            slots[index].answered += UInt64(tally.answers)
            if slots[index].epoch == epoch {
                failedConnectsInARow = 0
                connectsAgainAt = MonotonicTime(nanoseconds: .min)
            }
        }
        if tally.accepted > 0 { tokens.rejectedConnections = 0 }
        if tally.answers > 0 { reached() }
        let wasHalfOpen = breaker.isHalfOpen
        let opening = breaker.answered(tally, on: id, now: now, random: random.unit())
        announce(opening)
        if opening != nil { takeBackUnsent() }
        if wasHalfOpen, breaker.isClosed { actions.append(.raise(.breakerClosed)) }

        if isTrial(id) { trialEnded(tally, at: index, now: now) }
        let isCurrent = slots[index].epoch == epoch
        let isTurnedAway = slots[index].turnedAway(tally) >= policy.turnedAwayLimit
        if tally.halt != nil || tally.refusedToken != nil || tally.asksForAnother || isTurnedAway {
            drain(at: index, now: now)
        }
        // An answer for an older credential has no meaning for the current one.
        if isCurrent, let credentialFault = tally.credentialFault { refused(credentialFault, at: index) }
        if isCurrent, let halt = tally.halt { stop(halt, now: now) }
        if isCurrent, let generation = tally.refusedToken { refuseToken(generation, now: now) }
        slots.removeAll { $0.id == id && $0.phase == .gone && $0.given == 0 }
        return settle(now)
    }

    /// Takes back what connections have not sent, because nothing is to be sent for now.
    mutating func takeBackUnsent() {
        for slot in slots where slot.phase == .open && slot.given > 0 { actions.append(.giveBack(slot.id)) }
    }

    /// Returns the number of deliveries that the owner may still submit.
    package func credit(waiting: Int, now: MonotonicTime) -> Int {
        if trial != nil, !mode.isFinishing { return wantsTrial(now) ? max(0, 1 - waiting) : 0 }
        guard mode == .running, !isPaused, !breaker.isOpen else { return 0 }
        if breaker.isHalfOpen { return breaker.wantsProbe ? max(0, 1 - waiting) : 0 }
        if slots.contains(where: { $0.phase == .open }) {
            return max(0, min(slots.reduce(0) { $0 + room($1) }, policy.queueLimit) - waiting)
        }
        // A gateway without connections opens one only if deliveries wait.
        return now >= connectsAgainAt && tokens.isReady ? max(0, min(policy.reserve, policy.queueLimit) - waiting) : 0
    }

    /// Returns the delay after which a delivery that was refused for now may be sent again.
    ///
    /// - Parameter asked: The seconds of a `Retry-After`.
    package mutating func retryDelay(attempt: Int, asked: Int?) -> Duration {
        if let asked { return min(.seconds(max(1, asked)), policy.maxRetryAfter) }
        return policy.retry.delay(afterFailures: max(1, attempt), random: random.unit())
    }

    // MARK: Room

    private func ceiling(_ slot: borrowing PoolSlot) -> Int {
        slot.phase == .open && tokens.isUsable(slot.token) ? slot.limit + policy.prefetch(forLimit: slot.limit) : 0
    }

    private func room(_ slot: PoolSlot) -> Int { max(0, ceiling(slot) - slot.given) }

    /// Fills the emptiest connections first, until all are at one level. The caller ensures that there is more room
    /// than deliveries.
    private mutating func spread(_ count: Int) -> [Assignment] {
        func needed(for level: Int) -> Int {
            slots.reduce(0) { $0 + max(0, min(ceiling($1), level) - $1.given) }
        }
        var low = 0
        var high = slots.reduce(0) { max($0, ceiling($1)) }
        while low < high {
            let middle = (low + high + 1) / 2
            if needed(for: middle) <= count { low = middle } else { high = middle - 1 }
        }
        var left = count - needed(for: low)
        // Single deliveries rotate among the connections, so that each connection shows from time to time that it
        // works.
        turn &+= 1
        let start = turn % slots.count
        var result: [Assignment] = []
        result.reserveCapacity(slots.count)
        for step in 0..<slots.count {
            let slot = slots[(start + step) % slots.count]
            var share = max(0, min(ceiling(slot), low) - slot.given)
            if left > 0, room(slot) > share, slot.given + share <= low {
                share += 1
                left -= 1
            }
            if share > 0 { result.append(Assignment(connection: slot.id, count: share)) }
        }
        return result
    }
}
