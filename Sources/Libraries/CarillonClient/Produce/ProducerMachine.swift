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
        /// What decisions need of the request, which is not in the cache any more when its ack comes.
        let count: Int
        let key: IDKey
        let app: IDKey
        let kind: EncodedRequest.Kind
        let isLine: Bool
        let deadline: MonotonicTime
        /// The batch that it is in; 0 while it waits.
        var batch: UInt64 = 0
        var attempts: UInt32 = 0
        /// Whether another request with the same id has to end first.
        var isHeld = false
        /// Whether an earlier attempt was not answered.
        var isInDoubt = false
        /// Whether the last answer was `busy`. ``ProducerMachine/pauses`` has the time.
        var isBusy = false

        init(_ request: EncodedRequest, deadline: MonotonicTime) {
            self.request = request
            self.deadline = deadline
            (count, key, app) = (request.count, request.key, request.appKey)
            (kind, isLine) = (request.kind, request.isLine)
        }

        var isSent: Bool { batch != 0 }
        var waitsInLane: Bool { !isSent && !isHeld }
    }

    struct Pending {
        let number: UInt64
        let tickets: [Ticket]
        var open: Int
        let sentAt: MonotonicTime
        let timeout: Duration
    }

    /// What an id is in use for. An ack has the id alone, so one request at a time may be sent under an id, of whatever
    /// app, until each sending of it is answered or the connection is replaced.
    enum Claim {
        /// A request that has not ended, and the number of its sendings that are not answered on this connection.
        case request(Ticket, unanswered: Int)
        /// The answers to a request that has ended, and the time of its last sending. If they do not come before they
        /// are due, they are missing or late.
        case answers(Int, sentAt: MonotonicTime, due: MonotonicTime)
    }

    let settings: ProducerSettings
    /// The interval in which deadlines are examined.
    static let checkInterval = Duration.milliseconds(50)

    /// The requests by their tickets.
    var items = NumberTable<Item>()
    /// The lanes by the hashes of their apps.
    var lanes = NumberTable<Lane>()
    /// The apps whose lanes are not empty, in the order of their turns.
    var turns: [IDKey] = []
    /// The ids in use, by their hashes.
    var claims = NumberTable<Claim>()
    /// The requests that wait until the id is free, by its hash.
    var held: [UInt64: [Ticket]] = [:]
    /// The batches that are not answered, oldest first: ``ProducerSettings/maxRequests`` at most.
    var pending: [Pending] = []
    /// The pauses that the last answers to busy requests asked for.
    var pauses: [Ticket: Duration] = [:]
    /// The numbers of requests, by app, whose last answer was `busy`.
    var busy: [IDKey: Int] = [:]
    var isConnected = false
    var lastBatch: UInt64 = 0
    var unacknowledged = 0
    var unacknowledgedBytes = 0
    var waitingBytes = 0
    /// Whether there was a `busy` since all lanes were empty.
    var hasPaused = false
    var lastCheck: MonotonicTime?
    var lastAck: MonotonicTime?
    /// The last problem of the connection, for errors.
    var problem = "no connection yet"

    init(_ settings: ProducerSettings) {
        self.settings = settings
    }

    /// The number of requests that wait to be sent.
    var waiting: Int { items.count - unacknowledged }
    var isIdle: Bool { items.isEmpty }

    func request(_ ticket: Ticket) -> EncodedRequest? { items[ticket.number]?.request }

    /// Whether there is room for another request of that size.
    func hasRoom(for request: EncodedRequest) -> Bool {
        guard items.count < settings.maxWaiting + settings.window else { return false }
        guard waitingBytes == 0 || waitingBytes + request.count <= settings.maxWaitingBytes else { return false }
        // An app that Carillon has no room for must not take the room of all others.
        guard hasPaused, lanes[request.appKey.hash]?.pausedUntil != nil else { return true }
        return (lanes[request.appKey.hash]?.waiting ?? 0) < max(1, settings.maxWaiting / 2)
    }

    /// Whether requests that wait take half of the room, or more.
    var isHalfFull: Bool {
        waiting >= max(1, settings.maxWaiting / 2) || waitingBytes >= max(1, settings.maxWaitingBytes / 2)
    }

    /// Returns the apps that Carillon has no room for: the last answer to a request of theirs was `busy`, or the pause
    /// after such an answer goes on.
    func busyApps(now: MonotonicTime) -> Set<IDKey> {
        var apps = Set(busy.keys)
        guard hasPaused else { return apps }
        lanes.forEach { hash, lane in
            if let until = lane.pausedUntil, until > now { apps.insert(IDKey(hash: hash)) }
        }
        return apps
    }

    /// Takes a request. Returns the error if there is no room.
    ///
    /// - Parameter isForced: Whether it is taken without room, too. That is for one message at a time.
    mutating func submit(
        _ request: EncodedRequest, ticket: Ticket, deadline: MonotonicTime, now: MonotonicTime, isForced: Bool = false
    ) -> PushError? {
        guard isForced || hasRoom(for: request) else {
            let pause = changeLane(of: request.appKey) { $0.remainingPause(now: now) } ?? nil
            return .busy(retryAfter: pause ?? .milliseconds(250))
        }
        var item = Item(request, deadline: deadline)
        item.isHeld = claims.position(of: item.key.hash) != nil
        if item.isHeld {
            held[item.key.hash, default: []].append(ticket)
        } else {
            claims[item.key.hash] = .request(ticket, unanswered: 0)
            enqueue(ticket, app: item.app)
        }
        waitingBytes += item.count
        items[ticket.number] = item
        return nil
    }

    /// Ends a request early. Returns nil if it has ended before.
    mutating func cancel(_ ticket: Ticket, now: MonotonicTime) -> Outcome? {
        guard let item = items[ticket.number] else { return nil }
        settle(ticket)
        return .failed(.cancelled(inDoubt: item.isSent || item.isInDoubt))
    }

    /// Ends all requests, and returns them in their order with whether they are in doubt.
    mutating func end() -> [(Ticket, Outcome)] {
        var outcomes: [(Ticket, Outcome)] = []
        items.forEach { number, item in
            outcomes.append((Ticket(number: number), .failed(.closed(inDoubt: item.isSent || item.isInDoubt))))
        }
        outcomes.sort { $0.0 < $1.0 }
        for (ticket, _) in outcomes { settle(ticket) }
        return outcomes
    }

    mutating func enqueue(_ ticket: Ticket, app: IDKey) {
        let wasEmpty =
            changeLane(of: app) { $0.append(ticket) }
            ?? {
                var lane = Lane()
                defer { lanes[app.hash] = lane }
                return lane.append(ticket)
            }()
        if wasEmpty { turns.append(app) }
    }

    /// Changes the lane of an app in its place. Returns nil if there is none.
    @discardableResult
    mutating func changeLane<Result>(of app: IDKey, _ change: (inout Lane) -> Result) -> Result? {
        lanes.position(of: app.hash).map { change(&lanes[at: $0]) }
    }

    /// Forgets a request, and lets the next one with its id begin when no answer to this one can come any more.
    mutating func settle(_ ticket: Ticket) {
        guard let item = items.remove(ticket.number) else { return }
        if item.isBusy {
            pauses[ticket] = nil
            busy[item.app] = busy[item.app].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
        if !item.isHeld, case .request(_, let unanswered)? = claims[item.key.hash], unanswered > 0 {
            let (sentAt, due) = times(of: item)
            claims[item.key.hash] = .answers(unanswered, sentAt: sentAt, due: due)
        }
        if item.isSent {
            unacknowledged -= 1
            unacknowledgedBytes -= item.count
            closePart(of: item.batch)
        } else {
            waitingBytes -= item.count
            if !item.isHeld {
                let items = items
                changeLane(of: item.app) { lane in
                    lane.forgetOne { items.position(of: $0.number).map { items[at: $0].waitsInLane } ?? false }
                }
                leaveTurns(item.app)
            }
        }
        if item.isHeld {
            held[item.key.hash]?.removeAll { $0 == ticket }
            if held[item.key.hash]?.isEmpty == true { held[item.key.hash] = nil }
        } else if case .request? = claims[item.key.hash] {
            release(item.key.hash)
        }
    }

    /// Lets the requests of other apps with the same id go before one that was not sent and is in no lane. Those of its
    /// app stay behind it. Returns false if there is none of another app.
    mutating func stepBack(_ ticket: Ticket, at position: Int) -> Bool {
        let (id, app) = (items[at: position].key.hash, items[at: position].app)
        guard case .request(_, unanswered: 0)? = claims[id], let waiting = held[id] else { return false }
        let others = waiting.filter { items[$0.number]?.app != app }
        guard !others.isEmpty else { return false }
        items[at: position].isHeld = true
        held[id] = others + [ticket] + waiting.filter { items[$0.number]?.app == app }
        release(id)
        return true
    }

    /// Frees an id, and lets the next request under it begin.
    mutating func release(_ id: UInt64) {
        claims.remove(id)
        guard !held.isEmpty, let following = held[id]?.first else { return }
        held[id]?.removeFirst()
        if held[id]?.isEmpty == true { held[id] = nil }
        claims[id] = .request(following, unanswered: 0)
        guard let position = items.position(of: following.number) else { return }
        items[at: position].isHeld = false
        enqueue(following, app: items[at: position].app)
    }

    /// Returns the time at which a request was sent, or a later one, and the time at which its answer is due.
    private func times(of item: Item) -> (sentAt: MonotonicTime, due: MonotonicTime) {
        if let batch = pending.first(where: { $0.number == item.batch }) {
            return (batch.sentAt, batch.sentAt + batch.timeout)
        }
        let sentAt = lastCheck ?? MonotonicTime(nanoseconds: 0)
        return (sentAt, sentAt + settings.ackTimeout)
    }

    /// Counts an answer to a batch.
    mutating func closePart(of batch: UInt64) {
        guard let index = pending.firstIndex(where: { $0.number == batch }) else { return }
        pending[index].open -= 1
        if pending[index].open == 0 { pending.remove(at: index) }
    }
}
