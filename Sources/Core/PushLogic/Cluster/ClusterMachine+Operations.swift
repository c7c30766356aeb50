package import PushModel
package import PushTime

extension ClusterMachine {
    // MARK: The database

    /// Takes a new connection to the primary.
    package mutating func databaseUp(_ found: DatabaseIdentity, now: MonotonicTime) -> [Action] {
        let now = enter(now)
        guard phase != .ended else { return takeActions() }
        if let halt = difference(of: found) {
            actions.append(.raise(.halted(halt)))
            abandon(.ended)
            return takeActions()
        }
        if let known = database?.timeline, found.timeline != known {
            guard found.timeline > known else {
                // A primary that was replaced and does not know it.
                isConnected = false
                actions.append(.reconnect)
                return settle(now)
            }
            actions.append(.raise(.newPrimary(timeline: found.timeline)))
        }
        if database == nil { slots = Array(repeating: PartitionSlot(), count: found.partitions) }
        database = found
        isConnected = true
        clock.reset()
        times.renewal = now
        wantSnapshot(at: now)
        return settle(now)
    }

    /// Takes the loss of the connection. Operations without a result still have one each.
    package mutating func databaseLost(now: MonotonicTime) -> [Action] {
        let now = enter(now)
        isConnected = false
        clock.reset()
        claims = []
        // A snapshot of the old connection must not be used with the clock of the next.
        operations = operations.filter { $1.lane != .snapshot }
        return settle(now)
    }

    private func difference(of found: DatabaseIdentity) -> ClusterHalt? {
        guard (1...PartitionID.maxCount).contains(found.partitions) else { return .invalidPartitions(found.partitions) }
        guard let known = database else { return nil }
        if found.system != known.system { return .otherSystem(expected: known.system, found: found.system) }
        if found.cluster != known.cluster { return .otherCluster(expected: known.cluster, found: found.cluster) }
        if found.partitions != known.partitions {
            return .otherPartitions(expected: known.partitions, found: found.partitions)
        }
        return nil
    }

    // MARK: Results

    /// Takes the result of an operation.
    package mutating func finished(
        _ operation: OperationID, _ result: ClusterResult, now: MonotonicTime
    ) -> [Action] {
        let now = enter(now)
        guard let pending = operations.removeValue(forKey: operation) else { return settle(now) }
        switch pending.operation {
        case .snapshot: finishSnapshot(operation, begun: pending.begun, result, now: now)
        case .join: finishJoin(begun: pending.begun, result, now: now)
        case .renew: finishRenewal(begun: pending.begun, result, now: now)
        case .declareDead(let node, let incarnation):
            if result == .done {
                actions.append(.raise(.dead(node, incarnation)))
                hintOthers()
            }
            if result == .done || result == .unknown { wantSnapshot(at: now) }
        case .shorten: break
        case .take(let part, let epoch, let owner):
            finishTake(of: part, epoch: epoch, from: owner, result, now: now)
        case .handOver(let part, let epoch, let node):
            finishHandOver(of: part, epoch: epoch, to: node, result, now: now)
        case .leave:
            if phase == .leaving { finishLeaving(result) }
        }
        return settle(now)
    }

    func isPending(_ lane: PendingOperation.Lane) -> Bool { operations.values.contains { $0.lane == lane } }

    func pendingCount(_ lane: PendingOperation.Lane) -> Int { operations.values.count { $0.lane == lane } }

    mutating func run(_ operation: ClusterOperation, now: MonotonicTime) {
        lastOperation = OperationID(number: lastOperation.number &+ 1)
        operations[lastOperation] = PendingOperation(operation: operation, begun: now)
        actions.append(.run(lastOperation, operation))
    }

    /// Hints all other members that partitions have lost their owner.
    mutating func hintOthers() {
        for row in nodes where row.id != id && row.state == .live { actions.append(.hint(row.id)) }
    }

    // MARK: What is due

    /// Begins what is due, and returns all actions.
    mutating func settle(_ now: MonotonicTime) -> [Action] {
        settlePartitions(now)
        if isConnected {
            switch phase {
            case .member:
                if now >= times.renewal, !isPending(.renewal) {
                    times.renewal = now + policy.interval
                    run(.renew(incarnation: incarnation, isDraining: isDraining), now: now)
                }
                readTables(now)
                if !permit.isSuspended { takeClaims(now) }
            case .observing: readTables(now)
            case .joining, .leaving, .ended: break
            }
        }
        if isDraining, phase == .member, hasNoPartitions { leave(now) }
        return takeActions()
    }

    private mutating func readTables(_ now: MonotonicTime) {
        guard now >= times.snapshot, !isPending(.snapshot) else { return }
        times.snapshot = now + policy.interval
        times.lastSnapshot = now
        run(.snapshot, now: now)
    }
}
