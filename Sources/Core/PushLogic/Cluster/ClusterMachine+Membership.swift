import PushModel
import PushTime

extension ClusterMachine {
    // MARK: Joining

    /// Joins if the last snapshot allows it. The name may belong to another process that still lives.
    mutating func joinIfPossible(now: MonotonicTime) {
        var replacesExpired = false
        if let row = nodes.first(where: { $0.id == id }) {
            if row.incarnation == incarnation, !row.isMember {
                // A join without an answer was carried out, and the lease has ended since.
                takeNewIncarnation()
            } else if row.incarnation != incarnation, row.isMember, !predecessors.contains(row.incarnation) {
                replacesExpired = row.isExpired && clock.isTrusted
                guard replacesExpired else {
                    if !hasReportedName { actions.append(.raise(.nameInUse(row.incarnation))) }
                    hasReportedName = true
                    return
                }
            }
        }
        let join = NodeJoin(
            id: id, incarnation: incarnation, contact: contact, lease: policy.lease, predecessors: predecessors,
            replacesExpired: replacesExpired)
        phase = .joining
        actions.append(.remember(incarnation))
        run(.join(join), now: now)
    }

    mutating func finishJoin(begun: MonotonicTime, _ result: ClusterResult, now: MonotonicTime) {
        guard phase == .joining else { return }
        guard result == .done else {
            phase = .observing
            times.snapshot = now + (result == .missed ? policy.interval : policy.retryAfter)
            return
        }
        phase = .member
        hasReportedName = false
        joinedAfter = lastOperation
        permit.deadline = begun + policy.sendTime
        permit.isSuspended = now >= permit.deadline
        sendsUntil = permit.isSuspended ? .distantPast : permit.deadline
        times.renewal = begun + policy.interval
        wantSnapshot(at: now)
        actions.append(.raise(.joined(incarnation)))
    }

    private mutating func takeNewIncarnation() {
        // Only the latest matter: rows of earlier ones have been replaced.
        if predecessors.count >= 32 { predecessors = [] }
        predecessors.insert(incarnation)
        incarnation = NodeIncarnation(random: random.next())
    }

    // MARK: The lease

    mutating func finishRenewal(begun: MonotonicTime, _ result: ClusterResult, now: MonotonicTime) {
        guard phase == .member else { return }
        switch result {
        case .done:
            permit.deadline = max(permit.deadline, begun + policy.sendTime)
            if !permit.isSuspended {
                sendsUntil = permit.deadline
            } else if now < permit.deadline {
                permit.verifiesAfter = lastOperation
                wantSnapshot(at: now)
            }
        case .missed: lose(now)
        case .taken, .snapshot, .refused, .notSent, .unknown:
            times.renewal = min(times.renewal, now + policy.retryAfter)
        }
    }

    /// Stops sending, because the deadline has passed.
    mutating func suspend() {
        permit.isSuspended = true
        sendsUntil = .distantPast
        claims = []
        actions.append(.stopSending)
        for part in slots.indices {
            switch slots[part].state {
            case .serving(let epoch): slots[part].state = .stopped(epoch)
            case .foreign, .taking, .loading, .draining, .handing, .stopped: break
            }
        }
        actions.append(.raise(.stopped))
        if isDraining { leave(latest) }
    }

    /// Sends again for the partitions that are still held, after a renewal and a snapshot.
    mutating func resume() {
        permit.isSuspended = false
        sendsUntil = permit.deadline
        var count = 0
        for part in slots.indices {
            guard case .stopped(let epoch) = slots[part].state, let id = PartitionID(part) else { continue }
            slots[part].state = .serving(epoch)
            actions.append(.serve(id, epoch))
            count += 1
        }
        actions.append(.raise(.resumed(partitions: count)))
    }

    /// Gives everything up after this node was declared dead, and joins again.
    mutating func lose(_ now: MonotonicTime) {
        actions.append(.raise(.lost(incarnation)))
        abandon(.lost)
        guard !isDraining else { return }
        takeNewIncarnation()
        phase = .observing
        wantSnapshot(at: now)
    }

    // MARK: The end

    /// Stops serving, and leaves the table of nodes if this is possible.
    mutating func leave(_ now: MonotonicTime) {
        guard phase != .leaving, phase != .ended else { return }
        let isInTable = phase == .member || phase == .joining
        let wasConnected = isConnected
        abandon(.ended, ends: !(isInTable && wasConnected))
        guard isInTable, wasConnected else { return }
        phase = .leaving
        run(.leave(incarnation: incarnation), now: now)
    }

    mutating func finishLeaving(_ result: ClusterResult) {
        if result == .done {
            actions.append(.raise(.left))
            hintOthers()
        }
        phase = .ended
        actions.append(.end)
    }

    /// Stops sending and drops all partitions.
    mutating func abandon(_ reason: DropReason, ends: Bool = true) {
        if phase == .member, !permit.isSuspended { actions.append(.stopSending) }
        permit.isSuspended = true
        sendsUntil = .distantPast
        permit.deadline = .distantPast
        claims = []
        operations = [:]
        for part in slots.indices {
            if let id = PartitionID(part) { drop(id, reason, owner: nil) }
        }
        if reason == .ended || isDraining, ends {
            phase = .ended
            actions.append(.end)
        }
    }
}
