import PushModel
import PushTime

@testable import PushLogic

/// What the router does, compared with what must never happen.
extension RouterWalk {
    func run() {
        var hasMore = true
        while hasMore, fault == nil {
            machine.tick(now: now, wall: wall)
            let (actions, more) = machine.run()
            hasMore = more
            for record in actions.earlierRecords { note(record) }
            for completed in actions.earlierCompleted { note(completed) }
            for end in actions.cancelEnds { note(end) }
            for record in actions.records { note(record) }
            for completed in actions.completed { note(completed) }
            for page in actions.releases { release(page) }
            for recall in actions.recalls {
                guard let app = gates.firstIndex(where: { $0.index == recall.app }) else {
                    check(false, "a recall without a gateway")
                    break
                }
                gates[app].asked = recall.number
            }
            for part in actions.closed { note(closed: part.number) }
            for submission in actions.submissions { note(submission) }
            check(!isSuspended || actions.submissions.isEmpty, "a delivery was sent without the right to")
            check(isHealthy || actions.submissions.isEmpty, "a delivery was sent while the ledger could not write")
            questions += actions.pages.map { .page($0) } + actions.loads.map { .load($0) }
            if !actions.claims.isEmpty { questions.append(.claim(actions.claimants, actions.claims)) }
            if let due = actions.due { questions.append(.due(due)) }
            check(actions.claims.allSatisfy { (1...policy.page + 20).contains($0.devices.count) }, "too large a page")
            let status = machine.status()
            // Each lane has a floor beyond the pool, and messages that are read to find expired ones are held too.
            let besides = 6 * apps.count * policy.laneFloor + policy.look
            check(status.loaded <= policy.loadedMessages + besides, "\(status.loaded) messages held")
            // A single message may be larger than the limit of its lane.
            check(
                status.loadedBytes <= policy.loadedBytes + besides * Self.largestMessage,
                "\(status.loadedBytes) bytes held")
            check(machine.surplus == 0, "the machine forgot a delivery at a gateway")
        }
    }

    func note(closed part: Int) {
        check(parts[part] == .closing, "part \(part) was closed without an order")
        parts[part] = .closed
        // The ledger forgets a part with its claims. The keys of deliveries that have ended are stored.
        claims = claims.filter { claim, seq in
            self.part(of: seq) != part || ended.contains(Known(seq: seq, device: claim.device))
        }
        let left = gates.flatMap { $0.out + $0.older.flatMap(\.out) }.filter { delivery in
            accepted.contains { $0.value.message === delivery.message && EventNumber.part(of: $0.key) == part }
        }
        check(left.isEmpty, "\(left.count) deliveries of part \(part) are under way after it was closed")
    }

    func note(_ record: DeliveryRecord) {
        check(parts[part(of: record.seq)] != .closed, "a record of a closed part")
        check(waiting.contains(record.seq), "\(record.seq) is not waiting: \(record.outcome)")
        guard let final = record.outcome.final else { return }
        let isNew = ended.insert(Known(seq: record.seq, device: record.device)).inserted
        check(isNew, "a delivery of \(record.seq) ended twice: \(record.outcome)")
        if final == .suppressed { suppressed.insert(Known(seq: record.seq, device: record.device)) }
        tally[record.seq]?.add(final)
    }

    func note(_ completed: CompletedMessage) {
        let seq = completed.seq
        check(parts[part(of: seq)] != .closed, "\(seq) completed in a closed part")
        guard let message = accepted[seq], done.insert(seq).inserted, waiting.remove(seq) != nil else {
            return check(false, "\(seq) completed twice or was never accepted")
        }
        var counts = completed.counts
        counts.cancelled = 0
        check(counts == tally[seq], "\(seq): \(completed.counts) is not \(tally[seq]!)")
        check(completed.counts.cancelled == 0 || cancelled.contains(seq), "\(seq) was not cancelled")
        if let stopped = stopped[seq] {
            check(
                completed.counts.total == stopped.ended + stopped.underWay + stopped.cancelled
                    && UInt64(completed.counts.cancelled) >= stopped.cancelled,
                "\(seq): \(completed.counts) after \(stopped)")
            guard let named = named(message) else { return }
            return check(completed.counts.total == UInt64(named.count), "\(seq): \(completed.counts) of \(named.count)")
        }
        if completed.failure == .dropped {
            let app = apps.firstIndex(of: message.message.app)!
            check(seq < droppedUpTo[app][part(of: seq)], "\(seq) was accepted after the drop")
            check(completed.counts.expired > 0 || message.audience.isDynamic, "\(seq) ended before the drop")
        }
        // The search for devices ended early because the registry refused the audience or the message was dropped.
        if completed.failure != nil { return }
        let expected: Set<DeviceID>
        switch message.audience {
        case .tokens(let tokens): expected = Set(tokens.map { F.identities.device(of: message.message.app, token: $0) })
        case .devices(let devices): expected = Set(devices)
        case .users, .tags, .everyone, .activities:
            // The search for devices ended when the message expired.
            if let end = message.message.expiry.expiresAt, end == 0 || wall.seconds >= end { return }
            let app = message.message.app
            expected = Set(members(apps.firstIndex(of: app)!).map { F.device($0, app: app) })
        }
        check(Int(completed.counts.total) == expected.count, "\(seq): \(completed.counts) of \(expected.count)")
        check(expected.allSatisfy { ended.contains(Known(seq: seq, device: $0)) }, "\(seq): a device was forgotten")
    }

    func note(_ submission: RouterActions.Submission) {
        guard let first = submission.deliveries.first, let app = apps.firstIndex(of: first.message.app) else {
            return check(false, "an empty submission")
        }
        check(gates[app].isThere, "\(apps[app]) has no gateway")
        check(!gates[app].isPaused, "\(apps[app]) is paused")
        gates[app].taken += UInt64(submission.deliveries.count)
        check(gates[app].taken <= gates[app].window, "more than the credit of \(apps[app])")
        for delivery in submission.deliveries {
            check(delivery.message.app == apps[app], "a delivery of another app")
            check(!delivery.message.expiry.isPast(at: wall) && !delivery.isExpired(at: wall), "an expired delivery")
            if delivery.ticket & 15 == 0 {
                let id = DeliveryID.derived(app: apps[app], message: delivery.message.id, token: delivery.token)
                check(delivery.deliveryID == id, "a wrong apns-id")
            }
            check(tickets.insert(delivery.ticket).inserted, "two deliveries with one ticket")
            check(out.insert(Out(delivery)).inserted, "a delivery sent twice at a time")
            check(!delivery.message.isWithdrawn, "a delivery of a cancelled message")
            if parts.count > 1 {
                let seq = accepted.first { $0.value.message === delivery.message }?.key
                check(seq.map(isOpen) ?? false, "a delivery of a part that is not open")
            }
            if chance(2) { gates[app].unwritten.insert(delivery.ticket) }
            gates[app].out.append(delivery)
        }
        check(gates[app].out.count <= policy.underWay, "too many under way")
    }
}
