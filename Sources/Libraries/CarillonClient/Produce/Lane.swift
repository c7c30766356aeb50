import PushTime

/// The number of a request in one client.
struct Ticket: Hashable, Comparable, Sendable {
    let number: UInt64

    static func < (one: Ticket, other: Ticket) -> Bool { one.number < other.number }
}

/// The requests of one app that wait to be sent, in order, and the pause that `busy` asks for.
struct Lane {
    private var tickets: [Ticket] = []
    private var head = 0
    /// The number of tickets whose requests have ended while they waited.
    private var stale = 0
    private(set) var pausedUntil: MonotonicTime?
    private var pauses = 0

    /// The number of tickets, including those of requests that have ended.
    var length: Int { tickets.count - head }
    var isEmpty: Bool { length == 0 }
    /// The number of requests that wait.
    var waiting: Int { length - stale }

    /// Adds a ticket at the end. Returns whether it is the only one.
    mutating func append(_ ticket: Ticket) -> Bool {
        tickets.append(ticket)
        return length == 1
    }

    /// Puts tickets in front, but behind older ones.
    mutating func prepend(_ front: [Ticket]) {
        guard let last = front.max() else { return }
        let end = tickets[head...].firstIndex { $0 > last } ?? tickets.count
        tickets.replaceSubrange(..<end, with: (tickets[head..<end] + front).sorted())
        head = 0
    }

    /// Removes the ticket of a request that waits elsewhere now.
    mutating func remove(_ ticket: Ticket) {
        if let index = tickets[head...].firstIndex(of: ticket) { tickets.remove(at: index) }
        compact()
    }

    mutating func popFirst() -> Ticket? {
        guard head < tickets.count else { return nil }
        defer { compact() }
        head += 1
        return tickets[head - 1]
    }

    private mutating func compact() {
        if head == tickets.count {
            tickets.removeAll(keepingCapacity: head <= 16_384)
            head = 0
        } else if head >= 1024, 2 * head >= tickets.count {
            tickets.removeSubrange(..<head)
            head = 0
        }
    }

    /// Called when a waiting request has ended. `isLive` says whether a ticket still waits.
    mutating func forgetOne(isLive: (Ticket) -> Bool) {
        stale += 1
        guard stale >= 64, 2 * stale >= length else { return }
        tickets = tickets[head...].filter(isLive)
        (head, stale) = (0, 0)
    }

    /// Called for a ticket that was taken and whose request has ended before.
    mutating func tookStale() { stale = max(0, stale - 1) }

    /// Pauses the lane. The pause doubles while no request is accepted, up to 30 seconds.
    mutating func pause(_ duration: Duration, now: MonotonicTime) {
        if let until = pausedUntil, until > now { return pausedUntil = max(until, now + duration) }
        pauses = min(pauses + 1, 8)
        let longer = duration * (1 << (pauses - 1))
        pausedUntil = now + max(duration, min(longer, .seconds(30)))
    }

    mutating func succeeded() {
        pauses = 0
    }

    func isPaused(now: MonotonicTime) -> Bool { pausedUntil.map { $0 > now } ?? false }

    /// Ends a pause whose time has come. Returns the rest of it, or nil if the lane is not paused.
    mutating func remainingPause(now: MonotonicTime) -> Duration? {
        guard let until = pausedUntil else { return nil }
        if until > now { return until - now }
        pausedUntil = nil
        return nil
    }
}
