import PushTime

/// All decisions of a producer: the requests to send now, those to send again, and the end of each.
///
/// Every request that ``submit(_:ticket:deadline:now:)`` takes ends exactly once: with a result of
/// ``receive(_:now:)``, ``expire(now:)``, ``cancel(_:now:)`` or ``end()``. Requests of one app are sent in their order
/// as long as nothing has to be sent again.
struct ProducerMachine {
    /// How a request ended.
    enum Outcome: Equatable {
        case answered(AckStatus.Verdict)
        case failed(PushError)
        /// The message is in the spool. The machine itself does not return this.
        case spooled
    }

    /// Requests that go out together: one alone, or many as a batch.
    struct Batch: Equatable {
        let number: UInt64
        let tickets: [Ticket]
    }

    struct Item {
        let request: EncodedRequest
        let deadline: MonotonicTime
        /// The batch that it is in; nil while it waits.
        var batch: UInt64?
        /// Whether another request with the same id has to end first.
        var isHeld = false
        /// Whether an earlier attempt was not answered.
        var isInDoubt = false
        var attempts = 0
        var retryAfter: Duration?
    }

    struct Pending {
        var tickets: [Ticket]
        var open: Int
        let sentAt: MonotonicTime
        let timeout: Duration
    }

    let settings: ProducerSettings
    /// The interval in which deadlines are examined.
    static let checkInterval = Duration.milliseconds(50)

    private(set) var items: [Ticket: Item] = [:]
    var lanes: [String: Lane] = [:]
    /// The apps whose lanes are not empty, in the order of their turns.
    var turns: [String] = []
    private var byID: [IDKey: Ticket] = [:]
    private var held: [IDKey: [Ticket]] = [:]
    private(set) var pending: [UInt64: Pending] = [:]
    private(set) var isConnected = false
    private var nextBatch: UInt64 = 0
    private(set) var unacknowledged = 0
    private(set) var unacknowledgedBytes = 0
    private(set) var waitingBytes = 0
    /// Whether there was a `busy` since all lanes were empty.
    private var hasPaused = false
    private var lastCheck: MonotonicTime?
    private var lastAck: MonotonicTime?
    /// The last problem of the connection, for errors.
    var problem = "no connection yet"

    init(_ settings: ProducerSettings) {
        self.settings = settings
    }

    /// The number of requests that wait to be sent.
    var waiting: Int { items.count - unacknowledged }
    var isIdle: Bool { items.isEmpty }

    /// Whether there is room for another request of that size.
    func hasRoom(for request: EncodedRequest) -> Bool {
        guard items.count < settings.maxWaiting + settings.window else { return false }
        guard waitingBytes == 0 || waitingBytes + request.count <= settings.maxWaitingBytes else { return false }
        // An app that Carillon has no room for must not take the room of all others.
        guard let lane = lanes[request.app], lane.pausedUntil != nil else { return true }
        return lane.waiting < max(1, settings.maxWaiting / 2)
    }

    func request(_ ticket: Ticket) -> EncodedRequest? { items[ticket]?.request }

    // MARK: Requests

    /// Takes a request. Returns the error if there is no room.
    mutating func submit(
        _ request: EncodedRequest, ticket: Ticket, deadline: MonotonicTime, now: MonotonicTime
    ) -> PushError? {
        guard hasRoom(for: request) else {
            let pause = lanes[request.app]?.remainingPause(now: now)
            return .busy(retryAfter: pause ?? .milliseconds(250))
        }
        var item = Item(request: request, deadline: deadline)
        if byID[request.key] == nil {
            byID[request.key] = ticket
            enqueue(ticket, app: request.app)
        } else {
            item.isHeld = true
            held[request.key, default: []].append(ticket)
        }
        items[ticket] = item
        waitingBytes += request.count
        return nil
    }

    /// Ends a request early. Returns nil if it has ended before.
    mutating func cancel(_ ticket: Ticket, now: MonotonicTime) -> Outcome? {
        guard let item = items[ticket] else { return nil }
        settle(ticket)
        return .failed(.cancelled(inDoubt: item.batch != nil || item.isInDoubt))
    }

    /// Ends all requests, and returns them in their order with whether they are in doubt.
    mutating func end() -> [(Ticket, Outcome)] {
        let all = items.sorted { $0.key < $1.key }
        let outcomes = all.map { ticket, item in
            (ticket, Outcome.failed(.closed(inDoubt: item.batch != nil || item.isInDoubt)))
        }
        for (ticket, _) in all { settle(ticket) }
        return outcomes
    }

    private mutating func enqueue(_ ticket: Ticket, app: String) {
        let wasEmpty = lanes[app, default: Lane()].append(ticket)
        if wasEmpty { turns.append(app) }
    }

    // MARK: Connection

    mutating func connected(now: MonotonicTime) {
        isConnected = true
        lastAck = now
    }

    /// Called when the connection is lost. Everything that was sent is in doubt, and is sent again.
    mutating func disconnected(problem: String) {
        self.problem = problem
        isConnected = false
        let lost = pending.values.flatMap { $0.tickets }.sorted()
        pending = [:]
        giveBack(lost, isInDoubt: true)
    }

    // MARK: Sending

    /// Returns the requests to send next; nil if there are none now.
    mutating func next(now: MonotonicTime) -> Batch? {
        guard isConnected, pending.count < ProducerSettings.maxRequests else { return nil }
        for _ in 0..<turns.count {
            let app = turns.removeFirst()
            if lanes[app]?.remainingPause(now: now) != nil {
                turns.append(app)
                continue
            }
            let tickets = take(from: app)
            if lanes[app]?.isEmpty == false { turns.append(app) } else { dropLane(app) }
            guard !tickets.isEmpty else { continue }
            return begin(tickets, now: now)
        }
        return nil
    }

    private mutating func dropLane(_ app: String) {
        if lanes[app]?.pausedUntil == nil { lanes[app] = nil }
    }

    private mutating func take(from app: String) -> [Ticket] {
        guard var lane = lanes.removeValue(forKey: app) else { return [] }
        var tickets: [Ticket] = []
        var bytes = 0
        while tickets.count < settings.maxBatch, unacknowledged + tickets.count < settings.window,
            let ticket = lane.popFirst()
        {
            guard let item = items[ticket], item.batch == nil, !item.isHeld else {
                lane.tookStale()
                continue
            }
            let count = item.request.count
            let isFirst = tickets.isEmpty
            let fits =
                (unacknowledgedBytes == 0 && isFirst) || unacknowledgedBytes + bytes + count <= settings.windowBytes
            let joins = isFirst || (item.request.isLine && bytes + count <= ProducerSettings.maxBatchBytes)
            guard fits, joins else {
                lane.prepend([ticket])
                break
            }
            tickets.append(ticket)
            bytes += count
            if !item.request.isLine { break }
        }
        lanes[app] = lane
        return tickets
    }

    private mutating func begin(_ tickets: [Ticket], now: MonotonicTime) -> Batch {
        nextBatch += 1
        var timeout = settings.ackTimeout
        for ticket in tickets {
            guard let index = items.index(forKey: ticket) else { continue }
            let count = items.values[index].request.count
            waitingBytes -= count
            unacknowledgedBytes += count
            let attempts = items.values[index].attempts
            if attempts > 0 { timeout = max(timeout, longerTimeout(attempts: attempts)) }
            items.values[index].batch = nextBatch
            items.values[index].attempts = attempts + 1
        }
        unacknowledged += tickets.count
        pending[nextBatch] = Pending(tickets: tickets, open: tickets.count, sentAt: now, timeout: timeout)
        return Batch(number: nextBatch, tickets: tickets)
    }

    private func longerTimeout(attempts: Int) -> Duration {
        min(settings.ackTimeout * (1 << min(attempts, 6)), max(.seconds(30), settings.ackTimeout))
    }

    /// Called when the socket did not take a batch. Its requests wait again, in front.
    mutating func notSent(_ batch: Batch) {
        pending[batch.number] = nil
        for ticket in batch.tickets { items[ticket]?.attempts -= 1 }
        giveBack(batch.tickets, isInDoubt: false)
    }

    /// Lets requests wait again, in front of the others and in their order.
    private mutating func giveBack(_ tickets: [Ticket], isInDoubt: Bool) {
        var fronts: [String: [Ticket]] = [:]
        for ticket in tickets where items[ticket]?.batch != nil {
            guard let request = items[ticket]?.request else { continue }
            items[ticket]?.batch = nil
            if isInDoubt { items[ticket]?.isInDoubt = true }
            unacknowledged -= 1
            unacknowledgedBytes -= request.count
            waitingBytes += request.count
            fronts[request.app, default: []].append(ticket)
        }
        for (app, front) in fronts {
            if lanes[app, default: Lane()].isEmpty { turns.append(app) }
            lanes[app, default: Lane()].prepend(front)
        }
    }

    // MARK: Answers

    /// Takes one status of an ack. Returns the request that ends with it, if one does.
    mutating func receive(_ status: AckStatus, now: MonotonicTime) -> (Ticket, Outcome)? {
        lastAck = now
        guard let ticket = byID[status.key], let item = items[ticket] else { return nil }
        switch (item.request.kind, status.verdict) {
        case (_, .busy(let pause)):
            guard let batch = item.batch else { return nil }
            close(ticket, of: batch)
            giveBack([ticket], isInDoubt: false)
            items[ticket]?.retryAfter = pause
            lanes[item.request.app]?.pause(pause, now: now)
            hasPaused = true
            return nil
        case (.push, .accepted), (.push, .duplicate), (.cancel, .cancelled), (.cancel, .tooLate):
            if hasPaused { lanes[item.request.app]?.succeeded() }
        case (_, .rejected): break
        case (.push, .cancelled), (.push, .tooLate), (.cancel, .accepted), (.cancel, .duplicate):
            // The late answer to an earlier request with the same id.
            return nil
        }
        settle(ticket)
        return (ticket, .answered(status.verdict))
    }

    private mutating func close(_ ticket: Ticket, of batch: UInt64) {
        guard let index = pending.index(forKey: batch) else { return }
        pending.values[index].open -= 1
        if pending.values[index].open == 0 { pending.remove(at: index) }
    }

    /// Forgets a request, and lets the next one with its id begin.
    private mutating func settle(_ ticket: Ticket) {
        guard let item = items.removeValue(forKey: ticket) else { return }
        let request = item.request
        if let batch = item.batch {
            unacknowledged -= 1
            unacknowledgedBytes -= request.count
            close(ticket, of: batch)
        } else {
            waitingBytes -= request.count
            if !item.isHeld {
                let items = items
                lanes[request.app]?.forgetOne { items[$0].map { $0.batch == nil && !$0.isHeld } ?? false }
            }
        }
        if item.isHeld {
            held[request.key]?.removeAll { $0 == ticket }
            if held[request.key]?.isEmpty == true { held[request.key] = nil }
            return
        }
        byID[request.key] = nil
        guard !held.isEmpty, let following = held[request.key]?.first else { return }
        held[request.key]?.removeFirst()
        if held[request.key]?.isEmpty == true { held[request.key] = nil }
        items[following]?.isHeld = false
        byID[request.key] = following
        if let app = items[following]?.request.app { enqueue(following, app: app) }
    }

    // MARK: Time

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
        var ended: [(Ticket, Outcome)] = []
        for (ticket, item) in items where item.deadline <= now {
            ended.append((ticket, .failed(failure(of: item))))
        }
        ended.sort { $0.0 < $1.0 }
        for (ticket, _) in ended { settle(ticket) }

        let overdue = pending.filter { $0.value.sentAt + $0.value.timeout <= now }
        let isSilent = overdue.contains { number, batch in lastAck.map { $0 <= batch.sentAt } ?? true }
        if !isSilent {
            for number in overdue.keys { pending[number] = nil }
            let late = overdue.flatMap { number, batch in batch.tickets.filter { items[$0]?.batch == number } }
            giveBack(late.sorted(), isInDoubt: true)
        }
        dropIdleLanes(now: now)
        return (ended, isSilent)
    }

    private mutating func dropIdleLanes(now: MonotonicTime) {
        for app in lanes.keys where lanes[app]?.isEmpty == true && lanes[app]?.remainingPause(now: now) == nil {
            lanes[app] = nil
        }
        if lanes.isEmpty { hasPaused = false }
    }

    private func failure(of item: Item) -> PushError {
        if item.batch != nil || item.isInDoubt { return .unknown(isConnected ? "no ack" : problem) }
        if let pause = item.retryAfter { return .busy(retryAfter: pause) }
        if item.isHeld { return .unavailable("another push with the same id is not answered yet") }
        if !isConnected { return .unavailable(problem) }
        return .busy(retryAfter: lanes[item.request.app]?.pausedUntil == nil ? .milliseconds(250) : .seconds(1))
    }
}
