import Glibc
import Synchronization

/// A serial executor on a thread of its own for actors that block: the ones over SQLite and over files. It has no
/// descriptors and no timers; a loop is never waited for on it.
///
/// - Important: It outlives every actor pinned to it. To enqueue on an executor that has stopped is a programming
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

    /// Starts the thread. It runs until `shutDown`.
    package init(name: String) {
        self.name = name
        thread.withLock { $0 = NamedThread(named: name) { self.run() } }
    }

    // MARK: Any thread

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

    /// Runs `work` on the thread, after what was enqueued before it.
    package func execute(_ work: @escaping @Sendable () -> Void) {
        submit(.closure(work))
    }

    /// The same if it still runs; false, and nothing happens, if it has stopped.
    package func executeUnlessStopped(_ work: @escaping @Sendable () -> Void) -> Bool {
        offer(.closure(work))
    }

    /// Runs what is still queued, ends the thread and returns.
    package func shutDown() async {
        precondition(!isOnExecutor, "blocking executor \(name) cannot wait for its own end")
        await withCheckedContinuation { continuation in
            execute {
                self.stopRequest.withLock { $0.append { continuation.resume() } }
            }
        }
        thread.withLock { $0 }?.join()
    }

    private func submit(_ job: Job) {
        // Not `precondition`: what it would say in the other case takes hold of the executor in this one.
        guard offer(job) else {
            preconditionFailure("blocking executor \(name) has stopped, but work was enqueued on it")
        }
    }

    private func offer(_ job: Job) -> Bool {
        // The runtime holds no reference to the executor that it calls. Once the lock is given back the job may run, and
        // be the last before the end: from then on the executor may be gone, and nothing of it is touched.
        state.withLock { state, wake in
            if state.isStopped { return false }
            state.jobs.append(job)
            if exchange(&state.isWaiting, with: false) { wake() }
            return true
        }
    }

    // MARK: The thread

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

    /// Waits for jobs and takes them all. Nil at the end: the stop was asked for and nothing is left.
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
    /// Holds up the thread that calls it. For threads whose work is to wait.
    package static func sleep(microseconds: UInt32) {
        usleep(microseconds)
    }
}
