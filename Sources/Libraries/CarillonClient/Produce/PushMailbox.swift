import PushLoop
import Synchronization

/// The requests of all tasks on their way to the producer's loop. A burst of requests wakes the loop once.
final class PushMailbox: Sendable {
    enum Letter: Sendable {
        case submit(Submission)
        case cancel(Ticket)
    }

    private struct State {
        var letters: [Letter] = []
        var isClosed = false
    }

    private let state = Locked(State())
    private let last = Atomic<UInt64>(0)

    /// The bound of letters on their way, as a multiple of what the producer may hold. The loop takes them within a
    /// tick, so more are there only if the loop hangs.
    private static let maxLetters = 100_000

    enum Admission {
        case refused(PushError)
        /// The caller must wake the loop if it is asked to.
        case admitted(wakes: Bool)
    }

    func nextTicket() -> Ticket {
        Ticket(number: last.add(1, ordering: .relaxed).newValue)
    }

    /// Adds a request, unless its task was cancelled. A cancellation that comes later finds the request.
    func submit(_ submission: Submission) -> Admission {
        state.withLock { state in
            if Task.isCancelled { return .refused(.cancelled(inDoubt: false)) }
            if state.isClosed { return .refused(.closed(inDoubt: false)) }
            guard state.letters.count < Self.maxLetters else {
                return .refused(.busy(retryAfter: .milliseconds(250)))
            }
            state.letters.append(.submit(submission))
            return .admitted(wakes: state.letters.count == 1)
        }
    }

    /// Adds a cancellation. Returns whether the loop must be woken.
    func cancel(_ ticket: Ticket) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.letters.append(.cancel(ticket))
            return state.letters.count == 1
        }
    }

    func takeAll() -> [Letter] {
        state.withLock { exchange(&$0.letters, with: []) }
    }

    /// Rejects requests from now on, and returns those that are on their way.
    func close() -> [Letter] {
        state.withLock { state in
            state.isClosed = true
            return exchange(&state.letters, with: [])
        }
    }
}

/// A request with the task that waits for its outcome. It is an object, because it passes through several queues.
final class Submission: Sendable {
    let ticket: Ticket
    let request: EncodedRequest
    let deadline: Duration
    let waiter: PushWaiter

    init(ticket: Ticket, request: EncodedRequest, deadline: Duration, waiter: PushWaiter) {
        self.ticket = ticket
        self.request = request
        self.deadline = deadline
        self.waiter = waiter
    }
}

/// The receiver of the outcome of a request.
@safe
enum PushWaiter: Sendable {
    case task(UnsafeContinuation<ProducerMachine.Outcome, Never>)
    /// One of many pushes that one task waits for.
    case part(PushGathering, index: Int)
    /// A message from the spool, by its number there.
    case spool(UInt64)
}

/// The outcomes of many pushes that one task waits for.
final class PushGathering: Sendable {
    private struct State {
        var outcomes: [ProducerMachine.Outcome?]
        var missing: Int
        var continuation: CheckedContinuation<[ProducerMachine.Outcome?], Never>?
    }

    private let state: Locked<State>

    init(count: Int) {
        state = Locked(State(outcomes: Array(repeating: nil, count: count), missing: count))
    }

    func finish(_ index: Int, with outcome: ProducerMachine.Outcome) {
        let finished = state.withLock {
            state -> (CheckedContinuation<[ProducerMachine.Outcome?], Never>, [ProducerMachine.Outcome?])? in
            guard state.outcomes.indices.contains(index), state.outcomes[index] == nil else { return nil }
            state.outcomes[index] = outcome
            state.missing -= 1
            guard state.missing == 0, let continuation = state.continuation.take() else { return nil }
            return (continuation, state.outcomes)
        }
        if let (continuation, outcomes) = finished { continuation.resume(returning: outcomes) }
    }

    /// Returns the outcomes when all are there.
    func all() async -> [ProducerMachine.Outcome?] {
        await withCheckedContinuation { continuation in
            let outcomes: [ProducerMachine.Outcome?]? = state.withLock { state in
                if state.missing > 0 { state.continuation = continuation }
                return state.missing == 0 ? state.outcomes : nil
            }
            if let outcomes { continuation.resume(returning: outcomes) }
        }
    }
}
