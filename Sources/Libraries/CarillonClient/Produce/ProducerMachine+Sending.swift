import PushTime

/// The connection, and what goes out on it.
extension ProducerMachine {
    mutating func connected(now: MonotonicTime) {
        isConnected = true
        lastAck = now
    }

    /// Called when the connection is lost. Everything that was sent is in doubt, and is sent again.
    mutating func disconnected(problem: String) {
        self.problem = problem
        isConnected = false
        let lost = exchange(&pending, with: []).flatMap { batch in
            batch.tickets.filter { items[$0.number]?.batch == batch.number }
        }
        giveBack(lost.sorted(), isInDoubt: true)
        forgetSendings()
    }

    /// No answer to what was sent comes any more.
    private mutating func forgetSendings() {
        var ended: [UInt64] = []
        claims.forEach { id, claim in
            if case .answers = claim { ended.append(id) }
        }
        for id in ended { release(id) }
        for place in 0..<claims.count {
            if case .request(let ticket, _) = claims[at: place] { claims[at: place] = .request(ticket, unanswered: 0) }
        }
    }

    /// Returns the requests to send next; nil if there are none now.
    mutating func next(now: MonotonicTime) -> Batch? {
        guard isConnected, pending.count < ProducerSettings.maxRequests else { return nil }
        for _ in 0..<turns.count {
            let app = turns.removeFirst()
            if let pause = changeLane(of: app, { $0.remainingPause(now: now) }), pause != nil {
                turns.append(app)
                continue
            }
            let tickets = take(from: app)
            if lanes[app.hash]?.isEmpty == false { turns.append(app) } else { dropLane(app) }
            guard !tickets.isEmpty else { continue }
            return begin(tickets, now: now)
        }
        return nil
    }

    /// Takes an app out of the turns if its lane has become empty.
    mutating func leaveTurns(_ app: IDKey) {
        guard lanes[app.hash]?.isEmpty == true else { return }
        turns.removeAll { $0 == app }
        dropLane(app)
    }

    private mutating func dropLane(_ app: IDKey) {
        if lanes[app.hash]?.pausedUntil == nil { lanes[app.hash] = nil }
    }

    private mutating func take(from app: IDKey) -> [Ticket] {
        guard var lane = lanes.remove(app.hash) else { return [] }
        let most = min(settings.maxBatch, settings.window - unacknowledged)
        var tickets: [Ticket] = []
        tickets.reserveCapacity(max(0, min(most, lane.length)))
        var bytes = 0
        while tickets.count < most, let ticket = lane.popFirst() {
            guard let position = items.position(of: ticket.number), items[at: position].waitsInLane else {
                lane.tookStale()
                continue
            }
            let (count, isLine) = (items[at: position].count, items[at: position].isLine)
            let isFirst = tickets.isEmpty
            let fits =
                (unacknowledgedBytes == 0 && isFirst) || unacknowledgedBytes + bytes + count <= settings.windowBytes
            let joins = isFirst || (isLine && bytes + count <= ProducerSettings.maxBatchBytes)
            guard fits, joins else {
                lane.prepend([ticket])
                break
            }
            tickets.append(ticket)
            bytes += count
            if !isLine { break }
        }
        lanes[app.hash] = lane
        return tickets
    }

    private mutating func begin(_ tickets: [Ticket], now: MonotonicTime) -> Batch {
        lastBatch += 1
        var timeout = settings.ackTimeout
        var bytes = 0
        for ticket in tickets {
            guard let position = items.position(of: ticket.number) else { continue }
            let attempts = items[at: position].begin(in: lastBatch)
            bytes += items[at: position].count
            countSending(under: items[at: position].key, by: 1)
            if attempts > 1 { timeout = max(timeout, longerTimeout(attempts: attempts - 1)) }
        }
        waitingBytes -= bytes
        unacknowledgedBytes += bytes
        unacknowledged += tickets.count
        pending.append(
            Pending(number: lastBatch, tickets: tickets, open: tickets.count, sentAt: now, timeout: timeout))
        return Batch(number: lastBatch, tickets: tickets)
    }

    private func longerTimeout(attempts: UInt32) -> Duration {
        min(settings.ackTimeout * (1 << min(attempts, 6)), longestTimeout)
    }

    var longestTimeout: Duration { max(.seconds(30), settings.ackTimeout) }

    /// Called when the socket did not take a batch. Its requests wait again, in front.
    mutating func notSent(_ batch: Batch) {
        pending.removeAll { $0.number == batch.number }
        for ticket in batch.tickets {
            guard let position = items.position(of: ticket.number) else { continue }
            items[at: position].attempts -= 1
            countSending(under: items[at: position].key, by: -1)
        }
        giveBack(batch.tickets, isInDoubt: false)
    }

    private mutating func countSending(under id: IDKey, by change: Int) {
        guard let place = claims.position(of: id.hash), case .request(let ticket, let unanswered) = claims[at: place]
        else { return }
        claims[at: place] = .request(ticket, unanswered: unanswered + change)
    }

    /// Lets requests wait again, in front of the others and in their order.
    mutating func giveBack(_ tickets: [Ticket], isInDoubt: Bool) {
        var fronts: [IDKey: [Ticket]] = [:]
        for ticket in tickets {
            guard let position = items.position(of: ticket.number), items[at: position].isSent else { continue }
            takeBack(at: position, isInDoubt: isInDoubt)
            fronts[items[at: position].app, default: []].append(ticket)
        }
        for (app, front) in fronts { enqueue(front, inFrontOf: app) }
    }

    /// Counts a request that was sent as one that waits.
    mutating func takeBack(at position: Int, isInDoubt: Bool) {
        items[at: position].batch = 0
        if isInDoubt { items[at: position].isInDoubt = true }
        unacknowledged -= 1
        unacknowledgedBytes -= items[at: position].count
        waitingBytes += items[at: position].count
    }

    mutating func enqueue(_ front: [Ticket], inFrontOf app: IDKey) {
        var lane = lanes.remove(app.hash) ?? Lane()
        if lane.isEmpty { turns.append(app) }
        lane.prepend(front)
        lanes[app.hash] = lane
    }
}

extension ProducerMachine.Item {
    /// Marks the request as sent in a batch. Returns the number of attempts with this one.
    fileprivate mutating func begin(in batch: UInt64) -> UInt32 {
        self.batch = batch
        attempts += 1
        return attempts
    }
}
