import PushTime

/// The ends of requests: answers and deadlines.
extension ProducerMachine {
    /// Takes one status of an ack. Returns the request that ends with it, if one does.
    mutating func receive(_ status: AckStatus, now: MonotonicTime) -> (Ticket, Outcome)? {
        lastAck = now
        guard let (ticket, position) = answered(by: status) else { return nil }
        switch status.verdict {
        case .busy(let pause):
            takeBusy(ticket, pause: pause, now: now)
            return nil
        case .accepted, .duplicate, .cancelled, .tooLate:
            if hasPaused { changeLane(of: items[at: position].app) { $0.succeeded() } }
        case .rejected: break
        }
        settle(ticket)
        return (ticket, .answered(status.verdict))
    }

    /// Counts an answer. Returns the request that it answers; nil if that has ended, or if nothing of that kind was asked.
    private mutating func answered(by status: AckStatus) -> (Ticket, position: Int)? {
        guard let claim = claims.position(of: status.key.hash) else { return nil }
        switch claims[at: claim] {
        case .request(_, unanswered: 0): return nil
        case .request(let ticket, let unanswered):
            guard let position = items.position(of: ticket.number), status.verdict.answers(items[at: position].kind)
            else { return nil }
            claims[at: claim] = .request(ticket, unanswered: unanswered - 1)
            return (ticket, position)
        case .answers(1, _, _):
            release(status.key.hash)
            return nil
        case .answers(let count, let sentAt, let due):
            claims[at: claim] = .answers(count - 1, sentAt: sentAt, due: due)
            return nil
        }
    }

    private mutating func takeBusy(_ ticket: Ticket, pause: Duration, now: MonotonicTime) {
        guard let position = items.position(of: ticket.number), items[at: position].isSent else { return }
        let item = items[at: position]
        closePart(of: item.batch)
        takeBack(at: position, isInDoubt: false)
        if !item.isBusy {
            items[at: position].isBusy = true
            busy[item.app, default: 0] += 1
        }
        pauses[ticket] = pause
        if !stepBack(ticket, at: position) { enqueue([ticket], inFrontOf: item.app) }
        // The pause is that of the app, also while none of its requests waits in the lane.
        if lanes.position(of: item.app.hash) == nil { lanes[item.app.hash] = Lane() }
        changeLane(of: item.app) { $0.pause(pause, now: now) }
        hasPaused = true
    }

    /// The time at which ``expire(now:)`` must be called next; nil if there is nothing to wait for.
    var nextCheck: MonotonicTime? {
        guard !items.isEmpty else { return nil }
        return (lastCheck ?? MonotonicTime(nanoseconds: 0)) + Self.checkInterval
    }

    /// Returns the requests whose deadline has passed, in their order, and whether the connection is silent and must be
    /// replaced.
    mutating func expire(now: MonotonicTime) -> (ended: [(Ticket, Outcome)], isSilent: Bool) {
        guard !items.isEmpty, lastCheck.map({ now >= $0 + Self.checkInterval }) ?? true else { return ([], false) }
        lastCheck = now
        var late: [Ticket] = []
        items.forEach { number, item in
            if item.deadline <= now { late.append(Ticket(number: number)) }
        }
        late.sort()
        let ended = late.map { ($0, Outcome.failed(failure(of: $0))) }
        for ticket in late { settle(ticket) }

        let overdue = pending.filter { $0.sentAt + $0.timeout <= now }
        let isSilent =
            overdue.contains { batch in lastAck.map { $0 <= batch.sentAt } ?? true } || answersAreMissing(now: now)
        if !isSilent, !overdue.isEmpty {
            pending.removeAll { $0.sentAt + $0.timeout <= now }
            let lost = overdue.flatMap { batch in
                batch.tickets.filter { items[$0.number]?.batch == batch.number }
            }
            giveBack(lost.sorted(), isInDoubt: true)
        }
        passPaused(now: now)
        dropIdleLanes(now: now)
        return (ended, isSilent)
    }

    /// Lets requests go before one with the same id that waits for the end of its app's pause, if theirs is not paused.
    private mutating func passPaused(now: MonotonicTime) {
        guard hasPaused else { return }
        for (id, waiting) in held {
            guard case .request(let ticket, unanswered: 0)? = claims[id],
                let position = items.position(of: ticket.number), items[at: position].waitsInLane
            else { continue }
            let app = items[at: position].app
            guard isPaused(app, now: now), waiting.contains(where: { !isPaused(appOf: $0, now: now) }) else { continue }
            changeLane(of: app) { $0.remove(ticket) }
            leaveTurns(app)
            _ = stepBack(ticket, at: position)
        }
    }

    private func isPaused(_ app: IDKey, now: MonotonicTime) -> Bool {
        lanes[app.hash]?.isPaused(now: now) ?? false
    }

    private func isPaused(appOf ticket: Ticket, now: MonotonicTime) -> Bool {
        items[ticket.number].map { isPaused($0.app, now: now) } ?? true
    }

    /// Whether only a new connection tells that the answers to ended requests do not come any more: because a request
    /// waits for them, or because they are too many to remember. While there are other acks, an answer may be late.
    private func answersAreMissing(now: MonotonicTime) -> Bool {
        if claims.count / 2 > settings.maxWaiting + settings.window { return true }
        return held.keys.contains { id in
            guard case .answers(_, let sentAt, let due)? = claims[id], due <= now else { return false }
            let hasAcks = lastAck.map { $0 > sentAt } ?? false
            return !hasAcks || sentAt + longestTimeout <= now
        }
    }

    /// Ends the requests of apps that are not under way, and returns them in their order.
    mutating func giveUp(_ apps: Set<IDKey>, where mayEnd: (Ticket) -> Bool) -> [(Ticket, Outcome)] {
        var tickets: [Ticket] = []
        items.forEach { number, item in
            let ticket = Ticket(number: number)
            if !item.isSent, apps.contains(item.app), mayEnd(ticket) { tickets.append(ticket) }
        }
        tickets.sort()
        let ended = tickets.map { ($0, Outcome.failed(failure(of: $0))) }
        for ticket in tickets { settle(ticket) }
        return ended
    }

    private mutating func dropIdleLanes(now: MonotonicTime) {
        // Without a pause, a lane is dropped when it is empty.
        guard hasPaused else { return }
        var idle: [UInt64] = []
        lanes.forEach { app, lane in
            var lane = lane
            if lane.isEmpty, lane.remainingPause(now: now) == nil { idle.append(app) }
        }
        for app in idle { lanes[app] = nil }
        if lanes.isEmpty { hasPaused = false }
    }

    private func failure(of ticket: Ticket) -> PushError {
        guard let item = items[ticket.number] else { return .unavailable(problem) }
        if item.isSent || item.isInDoubt { return .unknown(isConnected ? "no ack" : problem) }
        if item.isBusy, let pause = pauses[ticket] { return .busy(retryAfter: pause) }
        if item.isHeld { return .unavailable("an earlier request with the same id is not answered yet") }
        if !isConnected { return .unavailable(problem) }
        return .busy(retryAfter: lanes[item.app.hash]?.pausedUntil == nil ? .milliseconds(250) : .seconds(1))
    }
}

extension AckStatus.Verdict {
    fileprivate func answers(_ kind: EncodedRequest.Kind) -> Bool {
        switch self {
        case .accepted, .duplicate: kind == .push
        case .cancelled, .tooLate: kind == .cancel
        case .rejected, .busy: true
        }
    }
}
