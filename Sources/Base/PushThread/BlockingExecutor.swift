import Glibc
import Synchronization

/// A serial executor with its own thread, for actors that make blocking calls (SQLite, files). It has no descriptors
/// and no timers, and its thread never waits for an event loop.
///
/// - Important: The executor must outlive every actor pinned to it. Enqueuing on a stopped executor is a programming
///   error and ends the process with a message, as with `EventLoop`.
package final class BlockingExecutor: WorkExecutor {
    private struct State {
        var jobs: [Job] = []
        var isWaiting = false
        var isStopped = false
    }

    package let name: String
    private let state = Monitor(State())
    private let threadID = Atomic<UInt>(0)
    private let stopRequest = Locked<[@Sendable () -> Void]>([])
    private let thread = Locked<NamedThread?>(nil)

    /// Starts the thread. It runs until ``shutDown()``.
    package init(name: String) {
        self.name = name
        thread.withLock { $0 = NamedThread(named: name) { self.run() } }
    }

    // MARK: Callable on any thread

    package var isOnExecutor: Bool {
        threadID.load(ordering: .relaxed) == UInt(pthread_self())
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        submit(.job(UnownedJob(job)))
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isOnExecutor
    }

    package func checkIsolated() {
        precondition(isOnExecutor, "not on blocking executor \(name), but isolated to it")
    }

    /// Runs `work` on the thread, after all work that was enqueued before it.
    package func execute(_ work: @escaping @Sendable () -> Void) {
        submit(.closure(work))
    }

    /// Enqueues `work` like ``execute(_:)``, or returns false without an effect if the executor has stopped.
    package func executeUnlessStopped(_ work: @escaping @Sendable () -> Void) -> Bool {
        offer(.closure(work))
    }

    /// Runs all queued work, ends the thread and returns.
    package func shutDown() async {
        precondition(!isOnExecutor, "blocking executor \(name) cannot shut itself down on its own thread")
        await withCheckedContinuation { continuation in
            execute {
                self.stopRequest.withLock { $0.append { continuation.resume() } }
            }
        }
        thread.withLock { $0 }?.join()
    }

    private func submit(_ job: Job) {
        // `precondition` would retain `self` for its message, also if the condition holds and `self` may already be
        // freed.
        guard offer(job) else {
            preconditionFailure("blocking executor \(name) has stopped, it takes no work")
        }
    }

    private func offer(_ job: Job) -> Bool {
        // The runtime does not retain the executor that it calls. As soon as the lock is released, the job may run and
        // may be the last one, so the executor may already be freed. Do not touch any member after that.
        state.withLock { state, wake in
            if state.isStopped { return false }
            state.jobs.append(job)
            if exchange(&state.isWaiting, with: false) { wake() }
            return true
        }
    }

    // MARK: On the executor's thread

    private func run() {
        threadID.store(UInt(pthread_self()), ordering: .relaxed)
        while let jobs = nextJobs() {
            for job in jobs {
                switch job {
                case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
                case .closure(let work): work()
                }
            }
        }
        threadID.store(0, ordering: .relaxed)
        for resume in stopRequest.withLock({ $0 }) { resume() }
    }

    /// Waits for jobs and takes all of them. Returns nil if a stop was requested and no job is left.
    private func nextJobs() -> [Job]? {
        let isStopping = stopRequest.withLock { !$0.isEmpty }
        let jobs = state.wait { state -> [Job]? in
            if state.jobs.isEmpty, !isStopping {
                state.isWaiting = true
                return nil
            }
            state.isStopped = state.jobs.isEmpty
            return exchange(&state.jobs, with: [])
        }
        return jobs.isEmpty ? nil : jobs
    }
}

extension BlockingExecutor {
    /// Blocks the calling thread. Use it only on threads that may block.
    package static func sleep(microseconds: UInt32) {
        usleep(microseconds)
    }
}
