import Synchronization

/// A few threads for calls that block now and then: name look-ups, reading a file, the sync of a directory.
///
/// Threads start when they are needed, up to `threadCount`, and stay. At most `queueLimit` calls wait; one more is
/// refused as busy, so that what piles up is seen by the one who piles it up.
package final class BlockingPool: Sendable {
    private final class Ticket: Sendable {
        let isCancelled = Atomic(false)
    }

    private struct Call {
        let ticket: Ticket
        /// Does it; what it returns tells the caller.
        let work: @Sendable () -> @Sendable () -> Void
        /// Ends the call without its work.
        let abandon: @Sendable (any Error) -> Void
    }

    private struct State {
        /// In the order of arrival. Taken from the front: the limit keeps it short.
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

    /// Runs `work` on one of the threads. Throws what `work` throws; `BlockingPoolError` if it was not taken;
    /// `CancellationError`, and `work` does not run, if the task is cancelled while the call waits. Work that runs is
    /// not interrupted.
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

    /// Takes no more calls, runs those that wait, ends the threads and returns.
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

    /// Calls that wait and calls that run, for metrics.
    package var load: (waiting: Int, running: Int) {
        state.withLock { ($0.waiting.count, $0.running) }
    }

    private func submit(_ call: Call) {
        switch state.withLock({ admit(call, &$0) }) {
        case .refused(let error): call.abandon(error)
        case .admitted(nil): state.wakeOne()
        case .admitted(let number?):
            let thread = NamedThread(named: "\(name)-\(number)") { self.work() }
            threads.withLock { $0.append(thread) }
        }
    }

    private func admit(_ call: Call, _ state: inout State) -> Admission {
        // Cancelled before it was queued: `cancel` has looked for it in vain.
        if call.ticket.isCancelled.load(ordering: .sequentiallyConsistent) { return .refused(CancellationError()) }
        if state.isStopped {
            return .refused(
                BlockingPoolError(code: .stopped, message: "blocking pool \(name) has been shut down"))
        }
        // What idle threads are about to take does not count as waiting.
        guard state.running + state.waiting.count < threadCount + queueLimit else {
            return .refused(
                BlockingPoolError(
                    code: .busy,
                    message: "blocking pool \(name): \(threadCount) calls run and \(queueLimit) wait; try again later"))
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

    // MARK: The threads

    private func work() {
        while let call = nextCall() {
            let tell = call.work()
            // First: whoever calls again at once must not find the pool full of the call that has just returned.
            state.withLock { $0.running -= 1 }
            tell()
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
