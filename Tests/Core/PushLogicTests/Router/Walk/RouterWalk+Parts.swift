import PushModel
import PushTime

@testable import PushLogic

/// Parts of the ledger, which close and open, and a restart.
extension RouterWalk {
    func part(of seq: UInt64) -> Int { EventNumber.part(of: seq) }
    func isOpen(_ seq: UInt64) -> Bool { parts[part(of: seq)] == .open }

    func suspend(_ isSuspended: Bool) {
        self.isSuspended = isSuspended
        machine.tick(now: now, wall: wall)
        machine.suspended(isSuspended)
    }

    func changePart(_ part: Int) {
        switch parts[part] {
        case .open:
            parts[part] = .closing
            closings += 1
            machine.tick(now: now, wall: wall)
            machine.closed(PartitionID(part)!)
        case .closing: break
        case .closed: open(part)
        }
    }

    /// Opens a part, perhaps after it was at another node for a while, which knows of it what is on disk.
    func open(_ part: Int) {
        let isMeant = { (seq: UInt64) in EventNumber.part(of: seq) == part }
        for seq in cancelled where isMeant(seq) && done.insert(seq).inserted {
            waiting.remove(seq)
            scheduled.removeAll { $0.seq == seq }
        }
        for (claim, seq) in claims where isMeant(seq) && accepted[seq]!.needsClaim {
            let known = Known(seq: seq, device: claim.device)
            if !ended.contains(known) || suppressed.contains(known) { claims[claim] = nil }
        }
        for seq in waiting.union(scheduled.map(\.seq)) where isMeant(seq) {
            let old = accepted[seq]!
            // Messages that are read again are other objects, which are not withdrawn.
            let message = Message(
                id: old.message.id, app: old.message.app, priority: old.message.priority, expiry: old.message.expiry,
                payload: old.message.payload, onUnknown: old.message.onUnknown, notBefore: old.message.notBefore)
            accepted[seq] = AcceptedMessage(
                seq: seq, acceptedAt: old.acceptedAt, fingerprint: old.fingerprint, message: message,
                audience: old.audience, needsClaim: old.needsClaim, isScheduled: old.isScheduled)
        }
        parts[part] = .open
        machine.tick(now: now, wall: wall)
        machine.opened(PartitionID(part)!, backlog(of: waiting.filter(isMeant), scheduled.filter { isMeant($0.seq) }))
    }

    func backlog(of waiting: Set<UInt64>, _ scheduled: [(time: UnixSeconds, seq: UInt64)]) -> LedgerBacklog {
        var lanes: [Lane: [UInt64]] = [:]
        for seq in waiting.sorted() {
            lanes[Lane(of: accepted[seq]!.message, to: accepted[seq]!.audience), default: []].append(seq)
        }
        return LedgerBacklog(
            lanes: lanes.map { ($0.key, $0.value) }, times: waiting.sorted().map { ($0, begin($0)) },
            nextDue: scheduled.map(\.time).min())
    }

    /// The time since which a message waits.
    func begin(_ seq: UInt64) -> WallTime {
        let message = accepted[seq]!
        return max(message.acceptedAt, message.message.notBefore.map { WallTime($0) } ?? .distantPast)
    }

    /// Restarts the process. Everything that is not on disk is lost.
    func restart() {
        questions = []
        tickets = []
        out = []
        for app in gates.indices { gates[app] = Gate() }
        isHealthy = true
        // The ledger ends what is left of cancelled messages when it is opened.
        for seq in cancelled where done.insert(seq).inserted {
            waiting.remove(seq)
            scheduled.removeAll { $0.seq == seq }
        }
        orders = [:]
        machine = RouterMachine(
            policy, identities: F.identities, inactive: inactive, ofOtherKinds: NoDevices(), now: now, wall: wall)
        machine.backlog(backlog(of: waiting, scheduled))
    }
}
