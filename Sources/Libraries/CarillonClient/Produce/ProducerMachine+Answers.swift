import PushTime

/// The ends of requests: answers and deadlines.
extension ProducerMachine {
    /// Takes one status of an ack. Returns the request that ends with it, if one does.
    mutating func receive(_ status: AckStatus, now: MonotonicTime) -> (Ticket, Outcome)? {
        lastAck = now
        guard let ticket = byID[status.key.hash], let position = items.position(of: ticket.number) else { return nil }
        switch (items[at: position].kind, status.verdict) {
        case (_, .busy(let pause)):
            takeBusy(ticket, pause: pause, now: now)
            return nil
        case (.push, .accepted), (.push, .duplicate), (.cancel, .cancelled), (.cancel, .tooLate):
            if hasPaused { changeLane(of: items[at: position].app) { $0.succeeded() } }
        case (_, .rejected): break
        case (.push, .cancelled), (.push, .tooLate), (.cancel, .accepted), (.cancel, .duplicate):
            // The late answer to an earlier request with the same id.
            return nil
        }
        settle(ticket)
        return (ticket, .answered(status.verdict))
    }

    private mutating func takeBusy(_ ticket: Ticket, pause: Duration, now: MonotonicTime) {
        guard let item = items[ticket.number], item.isSent else { return }
        closePart(of: item.batch)
        giveBack([ticket], isInDoubt: false)
        if let position = items.position(of: ticket.number) { items[at: position].isBusy = true }
        pauses[ticket] = pause
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
        let isSilent = overdue.contains { batch in lastAck.map { $0 <= batch.sentAt } ?? true }
        if !isSilent, !overdue.isEmpty {
            pending.removeAll { $0.sentAt + $0.timeout <= now }
            let lost = overdue.flatMap { batch in
                batch.tickets.filter { items[$0.number]?.batch == batch.number }
            }
            giveBack(lost.sorted(), isInDoubt: true)
        }
        dropIdleLanes(now: now)
        return (ended, isSilent)
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
        if item.isHeld { return .unavailable("another push with the same id is not answered yet") }
        if !isConnected { return .unavailable(problem) }
        return .busy(retryAfter: lanes[item.app.hash]?.pausedUntil == nil ? .milliseconds(250) : .seconds(1))
    }
}
