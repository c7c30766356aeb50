import Foundation

/// The decisions of a queue: which request starts next, when one is sent again, and which redirect it follows.
///
/// The machine has no clock and no network. The time is a duration since any fixed moment.
struct QueueMachine: Sendable {
    typealias ID = UInt64

    /// The properties of a request that matter for decisions.
    struct Job: Sendable, Equatable {
        var url: URL
        var method: HTTPMethod
        var hasBody: Bool
        var priority: Priority
        var retry: RetryRule
        var redirect: RedirectRule
        var timeouts: Timeouts
    }

    /// The answer to an attempt.
    struct Answer: Sendable, Equatable {
        var status: Int
        var location: String?
        var retryAfter: Duration?
    }

    /// The failure of an attempt.
    struct Failure: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            /// The network failed; another attempt may succeed.
            case network
            /// No connection was made, and no byte of the body was sent.
            case unsent
            /// The file on the server is not the one that the download began with; the next attempt starts from zero.
            case changed
            /// Another attempt would fail, too.
            case final
        }

        var kind: Kind
        var error: RequestError
    }

    /// The commands to the queue. Attempts are numbered from 1, and redirects are attempts, too.
    enum Action: Sendable, Equatable {
        case start(ID, attempt: Int)
        case redirect(ID, Redirect.Step)
        /// End the transfer. Its end is reported as any other; the answer does not matter.
        case stop(ID, attempt: Int)
        /// The response of the last attempt is the result.
        case deliver(ID)
        case fail(ID, RequestError)
    }

    enum State: Sendable, Equatable {
        /// In the wait list. Can transition to: running, removed.
        case waiting
        /// A transfer is under way, and last moved data at `heard`. Can transition to: stopping, pausing, waiting
        /// (after a redirect), removed.
        case running(heard: Duration)
        /// The transfer was told to stop. The place is taken until its end is reported or `until` has passed. Can
        /// transition to: pausing (`error` is that of a timeout that permits a retry), removed.
        case stopping(until: Duration, error: RequestError?)
        /// The request waits for its next attempt. Can transition to: waiting, removed.
        case pausing(until: Duration)
    }

    struct Entry: Sendable {
        var job: Job
        var origin: Origin
        var state: State
        /// Attempts and redirects that were started.
        var attempt = 0
        /// Attempts that failed.
        var failures = 0
        var restarts = 0
        var hops = 0
        var deadline: Duration?
    }

    /// The time that a stopped transfer has to report its end.
    static let stopTime = Duration.seconds(10)

    let limits: QueueLimits
    private(set) var entries: [ID: Entry] = [:]
    /// The times at which something happens to requests without an input.
    private(set) var timed = AlarmList()
    var waiting = WaitList()
    var places: [Origin: Int] = [:]
    var budgets: [Origin: RetryBudget] = [:]
    var running = 0
    var jitter: Jitter

    init(limits: QueueLimits, seed: UInt64) {
        // The properties can be set to values that the initializer does not accept.
        self.limits = QueueLimits(
            maxRunning: limits.maxRunning, maxRunningPerHost: limits.maxRunningPerHost, maxWaiting: limits.maxWaiting,
            overflow: limits.overflow)
        jitter = Jitter(seed: seed)
    }

    /// The number of requests that wait for a place or for their next attempt.
    var pendingCount: Int { entries.count - running }

    /// Takes a new request. The id must not be in use.
    mutating func submitted(_ id: ID, job: Job, now: Duration) -> [Action] {
        guard let origin = Origin(job.url), entries[id] == nil else {
            return [.fail(id, RequestError(.invalidRequest, message: "cannot send a request to \(job.url.plain)"))]
        }
        var actions: [Action] = []
        if pendingCount >= limits.maxWaiting {
            let victim = limits.overflow == .dropLowest ? leastUrgent(below: job.priority) : nil
            guard let victim else { return [.fail(id, full(job.url))] }
            let url = entries[victim]?.job.url ?? job.url
            remove(victim)
            actions.append(.fail(victim, full(url)))
        }
        var entry = Entry(job: job, origin: origin, state: .waiting)
        entry.deadline = job.timeouts.total.map { now + $0 }
        set(id, to: entry)
        var budget = budgets[origin] ?? RetryBudget()
        budget.requested()
        // A full budget is the default, and is not stored. The others are bounded: a client of very many failing
        // servers forgets debts.
        budgets[origin] = budget.isFull ? nil : budget
        if budgets.count > 4096 { budgets.removeAll() }
        waiting.add(id, origin: origin, priority: job.priority, atFront: false)
        return actions + startNext(now: now)
    }

    /// Ends a request on behalf of its user.
    mutating func cancelled(_ id: ID, now: Duration) -> [Action] {
        guard let entry = entries[id] else { return [] }
        let error = RequestError(.cancelled, message: "the request to \(entry.job.url.plain) was cancelled")
        return give(up: id, error: error, now: now)
    }

    /// Notes that a transfer has moved data.
    mutating func heard(_ id: ID, attempt: Int, at moment: Duration) {
        guard let entry = entries[id], entry.attempt == attempt, case .running(let heard) = entry.state else { return }
        move(id, to: .running(heard: max(heard, moment)))
    }

    /// The request that gives way to one of a priority: of the lowest priority below, and of these one that has not
    /// started, or the newest that waits for its next attempt; nil if there is none. Takes O(n) of all requests.
    private func leastUrgent(below priority: Priority) -> ID? {
        let waits = waiting.leastUrgent(below: priority)
        let bound = waits.flatMap { entries[$0]?.job.priority } ?? priority
        guard bound > .low else { return waits }
        var least: (priority: Priority, id: ID)?
        for (id, entry) in entries where entry.job.priority < bound {
            guard case .pausing = entry.state else { continue }
            if let least, (least.priority, id) < (entry.job.priority, least.id) { continue }
            least = (entry.job.priority, id)
        }
        return least?.id ?? waits
    }

    /// The number of the last attempt of a request; 0 if it has none.
    func attempt(of id: ID) -> Int { entries[id]?.attempt ?? 0 }

    private func full(_ url: URL) -> RequestError {
        RequestError(
            .queueFull,
            message: "the request to \(url.plain) was refused: \(limits.maxWaiting) requests are waiting; "
                + "submit requests more slowly, or raise maxWaiting")
    }

    /// Starts waiting requests while there are places.
    mutating func startNext(now: Duration) -> [Action] {
        var actions: [Action] = []
        while running < limits.maxRunning {
            let (places, most) = (places, limits.maxRunningPerHost)
            guard let id = waiting.next(where: { places[$0, default: 0] < most }), let origin = entries[id]?.origin
            else {
                break
            }
            self.places[origin, default: 0] += 1
            running += 1
            change(id) { $0.attempt += 1 }
            move(id, to: .running(heard: now))
            actions.append(.start(id, attempt: entries[id]?.attempt ?? 0))
        }
        return actions
    }

    /// Gives the place of a transfer back.
    mutating func release(_ origin: Origin) {
        running -= 1
        let left = places[origin, default: 1] - 1
        places[origin] = left == 0 ? nil : left
    }

    mutating func set(_ id: ID, to entry: Entry) {
        entries[id] = entry
        timed.set(id, to: Self.time(of: entry))
    }

    mutating func change(_ id: ID, _ body: (inout Entry) -> Void) {
        guard var entry = entries[id] else { return }
        body(&entry)
        set(id, to: entry)
    }

    mutating func move(_ id: ID, to state: State) { change(id) { $0.state = state } }

    mutating func forget(_ id: ID) {
        entries[id] = nil
        timed.set(id, to: nil)
    }

    /// Forgets a request that has no transfer.
    mutating func remove(_ id: ID) {
        guard let entry = entries[id] else { return }
        forget(id)
        if entry.state == .waiting { waiting.remove(id, origin: entry.origin, priority: entry.job.priority) }
    }
}
