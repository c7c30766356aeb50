import PushModel
import PushTime

extension ClusterMachine {
    mutating func finishSnapshot(
        _ operation: OperationID, begun: MonotonicTime, _ result: ClusterResult, now: MonotonicTime
    ) {
        guard case .snapshot(let snapshot) = result else {
            times.snapshot = min(times.snapshot, now + policy.retryAfter)
            return
        }
        nodes = snapshot.nodes.sorted { $0.id < $1.id }
        // A node with a longer lease needs more time to notice that it ended.
        let lease = nodes.reduce(policy.lease) { max($0, min($1.lease, ClusterPolicy.leases.upperBound)) }
        if let step = clock.observe(
            snapshot.databaseTime, sent: begun, received: now, lease: lease, policy: policy)
        {
            actions.append(.raise(.clockStepped(by: step)))
        }
        switch phase {
        case .observing:
            shortenLeases(by: snapshot.databaseTime, now: now)
            joinIfPossible(now: now)
        case .member where operation > joinedAfter: compare(snapshot, operation, now: now)
        case .joining, .member, .leaving, .ended: break
        }
    }

    private mutating func compare(_ snapshot: ClusterSnapshot, _ operation: OperationID, now: MonotonicTime) {
        guard let own = nodes.first(where: { $0.id == id }), own.incarnation == incarnation, own.isMember else {
            return lose(now)
        }
        for row in snapshot.leases { compare(row, operation) }
        if permit.isSuspended, now < permit.deadline, operation > permit.verifiesAfter { resume() }
        guard !permit.isSuspended else { return }
        shortenLeases(by: snapshot.databaseTime, now: now)
        declareDeadNodes(now)
        share(snapshot, operation, now: now)
    }

    /// Compares one partition with its row.
    private mutating func compare(_ row: LeaseRow, _ operation: OperationID) {
        guard let state = state(of: row.part), operation > slots[row.part.number].changedAfter else { return }
        switch state {
        case .foreign: slots[row.part.number].state = .foreign(row.node, row.epoch)
        case .loading(let epoch), .serving(let epoch), .draining(let epoch, _, _), .stopped(let epoch):
            guard row.node != id || row.epoch != epoch else { return }
            actions.append(.raise(.fenced(row.part, epoch)))
            drop(row.part, .fenced, owner: row.node)
        case .taking, .handing: break
        }
    }

    /// Shortens leases that end later than a renewal of this moment would. The clock of the database went back since
    /// their renewal, which was not later than now, so they end in time if they are counted from now.
    private mutating func shortenLeases(by databaseTime: Duration, now: MonotonicTime) {
        guard !isPending(.declaration) else { return }
        // `now()` of a snapshot may be a little earlier than that of a renewal that it shows.
        let slack = policy.margin / 4
        for row in nodes where row.isMember && row.incarnation != incarnation && row.remaining > row.lease + slack {
            run(.shorten(row.id, incarnation: row.incarnation, until: databaseTime + row.remaining), now: now)
        }
    }

    /// Declares nodes dead whose lease has ended by a clock that can be believed.
    private mutating func declareDeadNodes(_ now: MonotonicTime) {
        guard clock.isTrusted, !isPending(.declaration) else { return }
        for row in nodes where row.id != id && row.isMember && row.isExpired {
            run(.declareDead(row.id, incarnation: row.incarnation), now: now)
        }
        // The end of the next lease is seen at once.
        if let next = nodes.filter({ $0.id != id && $0.isMember && !$0.isExpired }).map(\.remaining).min() {
            wantSnapshot(at: now + next + policy.minSnapshotInterval)
        }
    }

    // MARK: Shares

    /// Finds the partitions that this node takes, and those that it hands over.
    private mutating func share(_ snapshot: ClusterSnapshot, _ operation: OperationID, now: MonotonicTime) {
        let takers = nodes.filter { $0.state == .live && !$0.isExpired && !(isDraining && $0.id == id) }
        if takers.map(\.incarnation) != moves.members {
            moves.members = takers.map(\.incarnation)
            moves.membersSince = now
            moves.next = max(moves.next, now + policy.settleTime + policy.moveJitter * random.unit())
        }
        let own = takers.firstIndex { $0.id == id }
        let holders = holders(snapshot, takers: takers, own: own)
        let homes = Balance.plan(holders, members: takers.count)
        claims = isDraining ? [] : chooseClaims(snapshot, holders: holders, homes: homes, own: own, now: now)
        if operation > moves.after { move(homes, takers: takers, own: own, now: now) }
    }

    /// Returns the holders of the partitions as they are after what this node has begun.
    private func holders(_ snapshot: ClusterSnapshot, takers: [NodeRow], own: Int?) -> [Balance.Holder] {
        var holders = [Balance.Holder](repeating: .fixed, count: slots.count)
        var known: [NodeID: Balance.Holder] = [:]
        for row in nodes {
            known[row.id] =
                if !row.isMember { .orphan } else if row.isExpired { .fixed } else { .leaving }
        }
        for (index, row) in takers.enumerated() { known[row.id] = .member(index) }
        for row in snapshot.leases where slots.indices.contains(row.part.number) {
            holders[row.part.number] = row.node.map { known[$0] ?? .fixed } ?? .orphan
            switch slots[row.part.number].state {
            case .draining(_, _, let node?), .handing(_, let node):
                if let index = takers.firstIndex(where: { $0.id == node }) { holders[row.part.number] = .member(index) }
            case .taking:
                if let own { holders[row.part.number] = .member(own) }
            case .foreign, .loading, .serving, .draining, .stopped: break
            }
        }
        return holders
    }

    /// Returns the partitions to take: those that bear the name of this node, those without an owner that are assigned
    /// to it, and those that the node to which they are assigned has not taken for a while.
    private mutating func chooseClaims(
        _ snapshot: ClusterSnapshot, holders: [Balance.Holder], homes: [Int?], own: Int?, now: MonotonicTime
    ) -> [LeaseRow] {
        var claims: [LeaseRow] = []
        for row in snapshot.leases where slots.indices.contains(row.part.number) {
            let number = row.part.number
            guard case .foreign = slots[number].state else { continue }
            guard slots[number].state == .foreign(row.node, row.epoch) else { continue }
            if row.node == id {
                claims.append(row)
                continue
            }
            // Somebody deleted the row of a node, which may send until its lease ends.
            let isLost = row.node.map { node in !nodes.contains { $0.id == node } } ?? false
            guard isLost || holders[number] == .orphan else {
                slots[number].orphanSince = nil
                continue
            }
            let since = slots[number].orphanSince ?? now
            slots[number].orphanSince = since
            guard !isLost else {
                if now >= since + policy.lostPatience { claims.append(row) }
                continue
            }
            let isAssigned = own != nil && homes[number] == own
            if isAssigned || now >= since + policy.orphanPatience {
                claims.append(row)
            } else {
                wantSnapshot(at: now + policy.orphanInterval)
            }
        }
        return claims.sorted { $0.part > $1.part }
    }

    /// Hands partitions over: for balance one at a time after a pause, and all of them, a few at a time, if this node
    /// drains.
    private mutating func move(_ homes: [Int?], takers: [NodeRow], own: Int?, now: MonotonicTime) {
        var moving = slots.count {
            switch $0.state {
            case .draining, .handing: true
            default: false
            }
        }
        for number in slots.indices.reversed() {
            guard case .serving(let epoch) = slots[number].state, let part = PartitionID(number) else { continue }
            if isDraining, takers.isEmpty {
                beginDrain(of: part, epoch: epoch, to: nil, now: now)
                continue
            }
            guard let home = homes[number], home != own else { continue }
            if isDraining {
                guard moving < policy.handOversAtOnce else { return }
            } else {
                guard moving == 0 else { return }
                let next = max(moves.next, moves.membersSince + policy.settleTime)
                guard now >= next else { return wantSnapshot(at: next) }
            }
            beginDrain(of: part, epoch: epoch, to: takers[home].id, now: now)
            moving += 1
        }
    }
}
