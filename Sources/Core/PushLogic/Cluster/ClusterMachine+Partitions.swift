package import PushModel
package import PushTime

extension ClusterMachine {
    // MARK: Inputs

    /// Records that a partition was read, after its epoch was raised.
    package mutating func loaded(_ part: PartitionID, epoch: PartitionEpoch, now: MonotonicTime) -> [Action] {
        let now = enter(now)
        if state(of: part) == .loading(epoch) {
            slots[part.number].loadFailures = 0
            slots[part.number].loadsAgainAt = nil
            if permit.isSuspended {
                slots[part.number].state = .stopped(epoch)
            } else {
                slots[part.number].state = .serving(epoch)
                actions.append(.serve(part, epoch))
            }
        }
        return settle(now)
    }

    /// Records that a partition could not be read. It is read again after a while.
    package mutating func loadFailed(_ part: PartitionID, epoch: PartitionEpoch, now: MonotonicTime) -> [Action] {
        let now = enter(now)
        if state(of: part) == .loading(epoch) {
            slots[part.number].loadFailures = min(slots[part.number].loadFailures + 1, 64)
            slots[part.number].loadsAgainAt =
                now
                + policy.loadAgain.delay(afterFailures: slots[part.number].loadFailures, random: random.unit())
        }
        return settle(now)
    }

    /// Records that nothing is in flight any more and all outcomes are written, after ``Action/drain(_:_:)``.
    package mutating func drained(_ part: PartitionID, epoch: PartitionEpoch, now: MonotonicTime) -> [Action] {
        let now = enter(now)
        if case .draining(epoch, _, let node)? = state(of: part) {
            if canReceive(node) {
                finishDrain(of: part, epoch: epoch, to: node, now: now)
            } else {
                keep(part, epoch: epoch, now: now)
            }
        }
        return settle(now)
    }

    /// Records that the database rejected a write, because another node has raised the epoch.
    package mutating func fenced(_ part: PartitionID, epoch: PartitionEpoch, now: MonotonicTime) -> [Action] {
        let now = enter(now)
        if state(of: part)?.heldEpoch == epoch {
            actions.append(.raise(.fenced(part, epoch)))
            drop(part, .fenced, owner: nil)
            wantSnapshot(at: now)
        }
        return settle(now)
    }

    // MARK: Results

    mutating func finishTake(
        of part: PartitionID, epoch: PartitionEpoch, from owner: NodeID?, _ result: ClusterResult, now: MonotonicTime
    ) {
        guard state(of: part) == .taking(from: owner, epoch) else { return }
        slots[part.number].changedAfter = lastOperation
        guard case .taken(let raised) = result else {
            slots[part.number].state = .foreign(owner, epoch)
            if result == .missed || result == .unknown {
                wantSnapshot(at: now)
            } else {
                claims = []
            }
            return
        }
        slots[part.number].state = .loading(raised)
        slots[part.number].orphanSince = nil
        if owner != id { actions.append(.raise(.takeover(part, raised, from: owner))) }
        actions.append(.load(part, raised))
    }

    mutating func finishHandOver(
        of part: PartitionID, epoch: PartitionEpoch, to node: NodeID, _ result: ClusterResult, now: MonotonicTime
    ) {
        guard state(of: part) == .handing(epoch, to: node) else { return }
        switch result {
        case .done:
            drop(part, .handedOver, owner: node)
            moves.after = lastOperation
            moves.next = now + policy.moveJitter * random.unit()
            actions.append(.raise(.handover(part, epoch, to: node)))
            actions.append(.hint(node))
            wantSnapshot(at: now)
        case .missed:
            actions.append(.raise(.fenced(part, epoch)))
            drop(part, .fenced, owner: nil)
            wantSnapshot(at: now)
        case .refused, .notSent: keep(part, epoch: epoch, now: now)
        case .unknown, .taken, .snapshot:
            // The hand-over may still be committed, so the epoch must be raised before the partition is served again.
            drop(part, .unknownOwner, owner: nil)
            moves.after = lastOperation
            wantSnapshot(at: now)
        }
    }

    /// Reads a partition again whose hand-over did not happen, after its drain has ended.
    private mutating func keep(_ part: PartitionID, epoch: PartitionEpoch, now: MonotonicTime) {
        moves.next = now + policy.interval
        slots[part.number].state = .loading(epoch)
        actions += [.drop(part, epoch, .notMoved), .load(part, epoch)]
    }

    // MARK: Changes

    /// Stops accepting for a partition that another node is to get. A node that leaves does not wait for long. Otherwise
    /// the partition moves when all outcomes are written, since the next owner would send again what has none.
    mutating func beginDrain(of part: PartitionID, epoch: PartitionEpoch, to node: NodeID?, now: MonotonicTime) {
        let until = isDraining ? now + policy.drainWithin : .distantFuture
        slots[part.number].state = .draining(epoch, until: until, to: node)
        actions.append(.drain(part, epoch))
    }

    /// Bounds the drains that were begun before this node was asked to leave.
    mutating func limitDrains(now: MonotonicTime) {
        for number in slots.indices {
            guard case .draining(let epoch, .distantFuture, let node) = slots[number].state else { continue }
            slots[number].state = .draining(epoch, until: now + policy.drainWithin, to: node)
        }
    }

    private mutating func finishDrain(
        of part: PartitionID, epoch: PartitionEpoch, to node: NodeID?, now: MonotonicTime
    ) {
        guard let node else { return drop(part, .leaving, owner: nil) }
        slots[part.number].state = .handing(epoch, to: node)
        run(.handOver(part, epoch: epoch, to: node), now: now)
    }

    /// Returns whether a partition can be handed to the node, which may have left or died since it was chosen. Without a
    /// node, the partition is only given up.
    private func canReceive(_ node: NodeID?) -> Bool {
        guard let node else { return true }
        return isConnected && !permit.isSuspended
            && nodes.contains { $0.id == node && $0.state == .live && !$0.isExpired }
    }

    /// Gives a partition up, if this node holds it or is taking it.
    mutating func drop(_ part: PartitionID, _ reason: DropReason, owner: NodeID?) {
        guard let state = state(of: part) else { return }
        if let epoch = state.heldEpoch { actions.append(.drop(part, epoch, reason)) }
        guard !isForeign(state) else { return }
        slots[part.number] = PartitionSlot(
            state: .foreign(owner, state.heldEpoch ?? .none), changedAfter: lastOperation)
    }

    private func isForeign(_ state: PartitionState) -> Bool {
        if case .foreign = state { true } else { false }
    }

    /// Whether this node neither holds a partition nor is taking one.
    var hasNoPartitions: Bool { slots.allSatisfy { isForeign($0.state) } }

    /// Begins what is due for single partitions.
    mutating func settlePartitions(_ now: MonotonicTime) {
        for number in slots.indices {
            guard let part = PartitionID(number) else { continue }
            switch slots[number].state {
            case .draining(let epoch, let until, let node) where now >= until:
                if canReceive(node) {
                    finishDrain(of: part, epoch: epoch, to: node, now: now)
                } else {
                    slots[number].state = .draining(epoch, until: now + policy.drainWithin, to: node)
                }
            case .loading(let epoch):
                if let again = slots[number].loadsAgainAt, now >= again {
                    slots[number].loadsAgainAt = nil
                    actions.append(.load(part, epoch))
                }
            default: break
            }
        }
    }

    /// Takes the next partitions, a few at a time and each in a transaction of its own, in ascending order.
    mutating func takeClaims(_ now: MonotonicTime) {
        var pending = pendingCount(.take)
        while pending < policy.takesAtOnce, let claim = claims.popLast() {
            guard let state = state(of: claim.part), isForeign(state) else { continue }
            slots[claim.part.number].state = .taking(from: claim.node, claim.epoch)
            run(.take(claim.part, epoch: claim.epoch, from: claim.node), now: now)
            pending += 1
        }
    }
}
