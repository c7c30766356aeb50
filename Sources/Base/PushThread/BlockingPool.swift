import Synchronization

/// A small pool of threads for occasional blocking calls: name lookups, file reads, `fsync` of a directory.
///
/// Threads start on demand, up to ``threadCount``, and stay alive. At most ``queueLimit`` calls wait. The pool rejects
/// further calls as busy, so that the caller that causes the backlog notices it.
package final class BlockingPool: Sendable {
    private final class Ticket: Sendable {
        let isCancelled = Atomic(false)
    }

    private struct Call {
        let ticket: Ticket
        /// Runs the blocking work and returns a closure that resumes the caller with the result.
        let work: @Sendable () -> @Sendable () -> Void
        /// Ends the call with an error, without its work.
        let abandon: @Sendable (any Error) -> Void
    }

    private struct State {
        /// The waiting calls in order of arrival. Removing the first element is cheap because ``queueLimit`` keeps the
        /// array short.
        var waiting: [Call] = []
        var running = 0
        var threads = 0
        var isStopped = false
        var stopped: [@Sendable () -> Void] = []
    }

    private enum Admission {
        case admitted(newThread: Int?)
        case refused(any Error)
    }

    package let name: String
    package let threadCount: Int
    package let queueLimit: Int
    private let state = Monitor(State())
    private let threads = Locked<[NamedThread]>([])

    package init(name: String, threadCount: Int, queueLimit: Int) {
        precondition(threadCount > 0 && queueLimit >= 0, "blocking pool \(name) needs at least one thread")
        self.name = name
        self.threadCount = threadCount
        self.queueLimit = queueLimit
    }

    /// Runs `work` on a thread of the pool. Throws what `work` throws. Throws ``BlockingPoolError`` if the pool rejects
    /// the call. If the task is cancelled while the call waits, `work` does not run and the function throws
    /// `CancellationError`. Work that has started is not interrupted.
    package func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        let ticket = Ticket()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Result, any Error>) in
                submit(
                    Call(
                        ticket: ticket,
                        work: {
                            let result = Swift.Result(catching: work)
                            return { continuation.resume(with: result) }
                        },
                        abandon: { continuation.resume(throwing: $0) }))
            }
        } onCancel: {
            cancel(ticket)
        }
    }

    /// Rejects new calls, runs the waiting calls, ends the threads and returns.
    package func shutDown() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.isStopped = true
                if state.threads == 0 { return true }
                state.stopped.append { continuation.resume() }
                return false
            }
            state.wakeAll()
            if isOver { continuation.resume() }
        }
        for thread in threads.withLock({ $0 }) { thread.join() }
    }

    /// The numbers of waiting and running calls, for metrics.
    package var load: (waiting: Int, running: Int) {
        state.withLock { ($0.waiting.count, $0.running) }
    }

    private func submit(_ call: Call) {
        switch state.withLock({ admit(call, to: &$0) }) {
        case .refused(let error): call.abandon(error)
        case .admitted(nil): state.wakeOne()
        case .admitted(let number?):
            let thread = NamedThread(named: "\(name)-\(number)") { self.work() }
            threads.withLock { $0.append(thread) }
        }
    }

    private func admit(_ call: Call, to state: inout State) -> Admission {
        // The call was cancelled before it was queued, so `cancel` did not find it in the queue.
        if call.ticket.isCancelled.load(ordering: .sequentiallyConsistent) { return .refused(CancellationError()) }
        if state.isStopped {
            return .refused(
                BlockingPoolError(code: .stopped, message: "blocking pool \(name) has been shut down"))
        }
        // Calls that idle threads are about to take do not count as waiting.
        guard state.running + state.waiting.count < threadCount + queueLimit else {
            return .refused(
                BlockingPoolError(
                    code: .busy,
                    message: "blocking pool \(name): busy, \(threadCount) calls run and \(queueLimit) wait; "
                        + "try again later"))
        }
        state.waiting.append(call)
        guard state.threads < threadCount, state.running + state.waiting.count > state.threads else {
            return .admitted(newThread: nil)
        }
        state.threads += 1
        return .admitted(newThread: state.threads - 1)
    }

    private func cancel(_ ticket: Ticket) {
        ticket.isCancelled.store(true, ordering: .sequentiallyConsistent)
        let call: Call? = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.ticket === ticket }) else { return nil }
            return state.waiting.remove(at: index)
        }
        call?.abandon(CancellationError())
    }

    // MARK: On the pool's threads

    private func work() {
        while let call = nextCall() {
            let resumeCaller = call.work()
            // Update the count first: a caller that calls again at once must not find the pool still full with its
            // finished call.
            state.withLock { $0.running -= 1 }
            resumeCaller()
        }
        let stopped = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [@Sendable () -> Void]() }
            return exchange(&state.stopped, with: [])
        }
        for resume in stopped { resume() }
    }

    private func nextCall() -> Call? {
        state.wait { state -> Call?? in
            if !state.waiting.isEmpty {
                state.running += 1
                return .some(state.waiting.removeFirst())
            }
            return state.isStopped ? .some(nil) : nil
        }
    }
}
