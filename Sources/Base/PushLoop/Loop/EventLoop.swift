private import CEvent
private import CLinux
import Glibc
// Threads, locks and blocking pools are the basis of loops, so this module re-exports them.
@_exported public import PushThread
import Synchronization

/// An event loop on its own thread that is also a serial executor: actors pinned to it run between its events.
///
/// One turn of the loop is a tick: it handles ready descriptors, due timers and jobs, and at its end it flushes the
/// output collected during the tick (``flushAtTickEnd(_:)``). Any thread may enqueue jobs; a burst of jobs costs one
/// wake-up. Functions marked "on the loop" trap on other threads.
///
/// - Important: A loop must outlive every actor pinned to it. Enqueuing on a stopped loop is a programming error and
///   ends the process with a message, because a job must never be lost silently.
@safe
package final class EventLoop: WorkExecutor, @unchecked Sendable {
    // Unchecked: `incoming`, `threadID` and `waking` synchronize themselves. All other variables are accessed only on
    // the loop's thread; `assertOnLoop` enforces this for callers.

    private struct Incoming {
        var jobs: [Job?] = []
        var wakePending = false
        var isStopped = false
    }

    package let name: String
    private let incoming = Locked(Incoming())
    private let threadID = Atomic<UInt>(0)
    /// The number of threads that are about to wake the loop.
    private let waking = Atomic<Int>(0)
    private let wakeDescriptor: CInt
    private let clock: LoopClock
    /// The thread. Set only in `init`.
    private var thread: NamedThread?

    // The following variables are accessed only on the loop's thread.
    private let base: OpaquePointer
    private var wakeEvent: OpaquePointer?
    private var timerEvent: OpaquePointer?
    private var local = JobQueue()
    private var taken: [Job?] = []
    private var timers = TimerHeap<Timer>()
    private var armedDeadline: MonotonicTime?
    private var time: MonotonicTime
    private var timeIsRead = true
    private var flushes: [any TickEndFlushing] = []
    private var flushing: [any TickEndFlushing] = []
    private var stopRequested = false
    private var stopped: [@Sendable () -> Void] = []
    private var endsAtStop: [ObjectIdentifier: any EndingAtStop] = [:]
    private var ticks: UInt64 = 0
    private let turnTime: Duration
    private var turnEnd = MonotonicTime.distantFuture

    private enum Timer {
        case once(() -> Void)
        case every(Duration, TimerHandle, () -> Void)
    }

    /// Starts the thread. The loop runs until ``shutDown()``.
    ///
    /// - Parameter turnTime: The time after which jobs wait for descriptors, and descriptors for jobs, although more of
    ///   them are ready.
    package init(name: String, clock: LoopClock = .monotonic, turnTime: Duration = .milliseconds(20)) {
        self.name = name
        self.clock = clock
        self.turnTime = turnTime
        switch clock {
        case .monotonic: time = .current()
        case .manual(let start): time = start
        }
        wakeDescriptor = CLinux_eventfd()
        precondition(wakeDescriptor >= 0, "event loop \(name): eventfd failed: \(SystemError.current)")
        // NOLOCK: only the loop's thread accesses the base. Other threads wake the loop through the eventfd.
        guard let config = unsafe event_config_new() else { fatalError("event loop \(name): out of memory") }
        unsafe event_config_set_flag(config, CInt(EVENT_BASE_FLAG_NOLOCK.rawValue))
        guard let base = unsafe event_base_new_with_config(config) else {
            fatalError("event loop \(name): libevent found no event mechanism on this system")
        }
        unsafe event_config_free(config)
        unsafe self.base = base
        thread = NamedThread(named: name) { self.run() }
    }

    deinit {
        close(wakeDescriptor)
    }

    // MARK: Callable on any thread

    package var isOnLoop: Bool {
        threadID.load(ordering: .relaxed) == UInt(pthread_self())
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        submit(.job(UnownedJob(job)))
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isOnLoop
    }

    package func checkIsolated() {
        precondition(isOnLoop, "not on event loop \(name), but isolated to it")
    }

    /// Runs `work` on the loop, after all work that was enqueued before it.
    package func execute(_ work: @escaping @Sendable () -> Void) {
        submit(.closure(work))
    }

    /// Runs `work` on the loop if the loop has not stopped. Use it to end something that could not be stopped before
    /// and whose end does not matter once the loop has stopped.
    package func executeUnlessStopped(_ work: @escaping @Sendable () -> Void) {
        _ = offer(.closure(work))
    }

    /// Runs all queued work, ends the thread and returns. Remaining watches and timers do not fire again.
    package func shutDown() async {
        precondition(!isOnLoop, "event loop \(name) cannot shut itself down on its own thread")
        await withCheckedContinuation { continuation in
            execute {
                self.stopRequested = true
                self.stopped.append { continuation.resume() }
            }
        }
        thread?.join()
    }

    private func submit(_ job: Job) {
        // `precondition` would retain `self` for its message, also if the condition holds and `self` may already be
        // freed.
        guard offer(job) else { preconditionFailure("event loop \(name) has stopped, it takes no work") }
    }

    /// Enqueues a job. Returns false if the loop has stopped.
    ///
    /// The runtime does not retain the executor that it calls. As soon as the loop can see the job, the job may run and
    /// may be the last one, so the loop may already be freed. No member may be accessed after that, except by a caller
    /// that is counted in `waking`: `stopNow` waits for it.
    private func offer(_ job: Job) -> Bool {
        if isOnLoop {
            local.append(job)
            return true
        }
        let (wakes, isStopped) = incoming.withLock { state in
            if state.isStopped { return (false, true) }
            state.jobs.append(job)
            if state.wakePending { return (false, false) }
            state.wakePending = true
            waking.add(1, ordering: .relaxed)
            return (true, false)
        }
        if wakes {
            wake()
            waking.subtract(1, ordering: .releasing)
        }
        return !isStopped
    }

    private func wake() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is full, so the loop wakes up anyway.
        unsafe _ = write(wakeDescriptor, &one, 8)
    }

    // MARK: On the loop: time and timers

    /// The time of the current tick. On the loop.
    package var now: MonotonicTime {
        assertOnLoop()
        // The loop has waited since the last reading, and libevent calls handlers before it returns to the loop.
        if !timeIsRead { readTime() }
        return time
    }

    /// The number of ticks so far, for tests and metrics. On the loop.
    package var tickCount: UInt64 {
        assertOnLoop()
        return ticks
    }

    /// Runs `action` once, at the first tick after `delay`. On the loop.
    @discardableResult
    package func schedule(after delay: Duration, action: @escaping () -> Void) -> TimerID {
        schedule(at: now + delay, action: action)
    }

    /// Runs `action` once, at the first tick that is not before `deadline`. On the loop.
    @discardableResult
    package func schedule(at deadline: MonotonicTime, action: @escaping () -> Void) -> TimerID {
        assertOnLoop()
        return timers.add(.once(action), at: deadline)
    }

    /// Runs `action` every `interval` until the handle is cancelled. Missed intervals are not made up for. On the loop.
    package func scheduleRepeating(every interval: Duration, action: @escaping () -> Void) -> TimerHandle {
        assertOnLoop()
        precondition(interval > .zero, "a repeating timer needs an interval above zero")
        let handle = TimerHandle()
        handle.id = timers.add(.every(interval, handle, action), at: now + interval)
        return handle
    }

    /// Cancels a timer. Returns false if the timer has already fired or was cancelled. On the loop.
    @discardableResult
    package func cancel(_ id: TimerID) -> Bool {
        assertOnLoop()
        return timers.cancel(id)
    }

    package func cancel(_ handle: TimerHandle) {
        assertOnLoop()
        if let id = handle.id.take() {
            timers.cancel(id)
        }
    }

    /// Moves a timer that has not fired yet and keeps its action. Returns false if it has fired or was cancelled. On
    /// the loop.
    @discardableResult
    package func reschedule(_ id: TimerID, at deadline: MonotonicTime) -> Bool {
        assertOnLoop()
        return timers.move(id, to: deadline)
    }

    /// Returns the deadline of a timer, or nil if it has already fired or was cancelled. On the loop.
    package func deadline(of id: TimerID) -> MonotonicTime? {
        assertOnLoop()
        return timers.deadline(of: id)
    }

    /// Advances a manual clock. Each timer fires at its own time, and jobs and flushes run between the timers.
    package func advance(by duration: Duration) async {
        guard case .manual = clock else { preconditionFailure("event loop \(name) does not have a manual clock") }
        await run {
            let target = self.time + duration
            self.runUntilQuiet()
            while let next = self.timers.earliest, next <= target {
                self.time = max(self.time, next)
                self.fireDueTimers()
                self.runUntilQuiet()
            }
            self.time = target
        }
    }

    // MARK: On the loop: end of the tick

    /// Calls `flusher` once at the end of this tick, so that all output collected until then is sent together. The
    /// caller must register at most once per tick.
    package func flushAtTickEnd(_ flusher: any TickEndFlushing) {
        assertOnLoop()
        flushes.append(flusher)
    }

    // MARK: On the loop: the end of the loop

    /// Retains an object that waits for what may not come before the loop stops, and ends it then. On the loop.
    package func endAtStop(_ object: any EndingAtStop) {
        assertOnLoop()
        endsAtStop[ObjectIdentifier(object)] = object
    }

    /// Releases an object that has ended before the loop. On the loop.
    package func hasEnded(_ object: any EndingAtStop) {
        assertOnLoop()
        endsAtStop[ObjectIdentifier(object)] = nil
    }

    // MARK: On the loop: access for other targets

    /// The libevent base, for code that uses libevent directly (watches, signals, the HTTP/1.1 server).
    package var eventBase: OpaquePointer {
        assertOnLoop()
        return unsafe base
    }

    package func assertOnLoop() {
        precondition(isOnLoop, "not on event loop \(name)")
    }

    /// Whether the present turn, of jobs or of descriptors, has taken so long that others should have theirs.
    package var isTurnOver: Bool { MonotonicTime.coarse() >= turnEnd }

    /// Begins the turn of the descriptors with the first handler: the loop has waited before it.
    func handlerBegins() {
        if turnEnd == .distantFuture { turnEnd = MonotonicTime.coarse() + turnTime }
    }

    /// Ends the turn of the descriptors if it has taken too long. Those that are left come first in the next turn.
    func handlerReturned() {
        if isTurnOver { unsafe event_base_loopbreak(base) }
    }

    // MARK: On the loop's thread

    private func run() {
        threadID.store(UInt(pthread_self()), ordering: .relaxed)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // Both events live as long as the thread, and the thread retains the loop.
        unsafe wakeEvent = event_new(
            base, wakeDescriptor, Int16(EV_READ | EV_PERSIST),
            { _, _, context in unsafe Unmanaged<EventLoop>.fromOpaque(context!).takeUnretainedValue().takeIncoming() },
            context)
        unsafe event_add(wakeEvent, nil)
        unsafe timerEvent = event_new(
            base, -1, 0,
            { _, _, context in
                // The timer has fired and is no longer armed. libevent reads a coarse clock and may fire some
                // milliseconds early. In that case the loop arms the timer for the same deadline again.
                unsafe Unmanaged<EventLoop>.fromOpaque(context!).takeUnretainedValue().armedDeadline = nil
            }, context)

        while true {
            runJobsAndFlushes()
            if stopRequested, stopNow() { break }
            armTimer()
            let isBusy = !local.isEmpty || !flushes.isEmpty
            timeIsRead = false
            turnEnd = .distantFuture
            // Use ONCE in both cases. NONBLOCK alone does not return while a descriptor stays ready, and the descriptor
            // may stay ready until the flush that follows.
            unsafe event_base_loop(base, isBusy ? EVLOOP_ONCE | EVLOOP_NONBLOCK : EVLOOP_ONCE)
            ticks &+= 1
            if !timeIsRead { readTime() }
            if case .monotonic = clock { fireDueTimers() }
        }

        unsafe event_free(wakeEvent)
        unsafe event_free(timerEvent)
        unsafe event_base_free(base)
        threadID.store(0, ordering: .relaxed)
        for resume in stopped { resume() }
    }

    private func readTime() {
        timeIsRead = true
        if case .monotonic = clock { time = .current() }
    }

    /// Rejects jobs of other threads from now on. Returns false if a job arrived at the last moment.
    private func stopNow() -> Bool {
        takeIncoming()
        for object in endsAtStop.values { object.endAtStop() }
        guard local.isEmpty else { return false }
        let isStopped = incoming.withLock { state in
            guard state.jobs.isEmpty else { return false }
            state.isStopped = true
            return true
        }
        // Wait for threads that are still inside `offer`, because the loop may be freed afterward. No further threads
        // can enter.
        while isStopped, waking.load(ordering: .acquiring) > 0 { sched_yield() }
        return isStopped
    }

    private func takeIncoming() {
        var count: UInt64 = 0
        unsafe _ = read(wakeDescriptor, &count, 8)
        incoming.withLock { state in
            state.wakePending = false
            swap(&state.jobs, &taken)
        }
        local.append(contentsOf: &taken)
    }

    /// The maximum number of jobs per tick. Jobs may enqueue jobs, and descriptors must not starve.
    private static let maxJobsPerTick = 4096

    private func runJobsAndFlushes() {
        var left = Self.maxJobsPerTick
        turnEnd = MonotonicTime.coarse() + turnTime
        while left > 0, let job = local.popFirst() {
            left -= 1
            switch job {
            case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
            case .closure(let work): work()
            }
            if isTurnOver { break }
        }
        if !flushes.isEmpty {
            swap(&flushes, &flushing)
            for flusher in flushing {
                flusher.flushAtTickEnd()
            }
            flushing.removeAll(keepingCapacity: true)
        }
    }

    /// Runs jobs and flushes until none is left, before a manual clock advances. Gives up after 1000 rounds, so that
    /// jobs that enqueue jobs endlessly do not stop the clock.
    private func runUntilQuiet() {
        for _ in 0..<1000 {
            runJobsAndFlushes()
            if local.isEmpty, flushes.isEmpty { return }
        }
    }

    private func fireDueTimers() {
        // A timer that is set while timers fire waits for the next tick. Otherwise an action that sets a timer with no
        // delay would block the loop forever.
        let due = time
        let newest = timers.newestOrder
        while let (_, timer) = timers.popDue(at: due, upTo: newest) {
            switch timer {
            case .once(let action):
                action()
            case .every(let interval, let handle, let action):
                handle.id = timers.add(timer, at: due + interval)
                action()
            }
        }
    }

    private func armTimer() {
        guard case .monotonic = clock, timers.earliest != armedDeadline else {
            return
        }
        armedDeadline = timers.earliest
        guard let deadline = timers.earliest else {
            unsafe event_del(timerEvent)
            return
        }
        let wait = max(0, deadline.nanoseconds - MonotonicTime.current().nanoseconds)
        // Round up: a wake-up that is too early finds no due timer and costs another turn.
        let microseconds = (wait + 999) / 1000
        var interval = timeval(tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
        unsafe event_add(timerEvent, &interval)
    }
}

/// A handle that cancels a repeating timer. Confined to its loop.
package final class TimerHandle {
    fileprivate(set) var id: TimerID?
}

/// An object that would wait in vain after its loop has stopped.
package protocol EndingAtStop: AnyObject {
    /// Ends at once. The loop then runs the jobs that this adds.
    func endAtStop()
}

/// An object that collects output during a tick and sends it at the end of the tick.
package protocol TickEndFlushing: AnyObject {
    func flushAtTickEnd()
}
