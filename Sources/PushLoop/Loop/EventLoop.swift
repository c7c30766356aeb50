private import CEvent
private import CLinux
import Glibc
import Synchronization

/// An event loop on a thread of its own that is a serial executor: actors pinned to it run between its events.
///
/// One turn of the loop is a tick: descriptors that are ready, timers that are due, jobs, then the tick's end, where
/// what gathered during the tick is flushed (`flushAtTickEnd`). Any thread may enqueue jobs; a burst of them costs one
/// wake-up. Everything marked "on the loop" traps elsewhere.
///
/// - Important: A loop outlives every actor pinned to it. To enqueue on a loop that has stopped is a programming
///   error and ends the process with a message: a job must never be dropped in silence.
@safe
package final class EventLoop: WorkExecutor, @unchecked Sendable {
    // Unchecked: `incoming`, `threadID` and `waking` guard themselves; every other variable is touched on the loop's thread
    // only, which `assertOnLoop` holds callers to.

    private struct Incoming {
        var jobs: [Job?] = []
        var wakePending = false
        var isStopped = false
    }

    package let name: String
    private let incoming = Locked(Incoming())
    private let threadID = Atomic<UInt>(0)
    /// Threads that are about to wake the loop.
    private let waking = Atomic<Int>(0)
    private let wakeDescriptor: CInt
    private let clock: LoopClock
    /// Set in `init` only.
    private var thread: NamedThread?

    // On the loop's thread only, from here.
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
    private var ticks: UInt64 = 0

    private enum Timer {
        case once(() -> Void)
        case every(Duration, TimerHandle, () -> Void)
    }

    /// Starts the thread. The loop runs until `shutDown`.
    package init(name: String, clock: LoopClock = .monotonic) {
        self.name = name
        self.clock = clock
        switch clock {
        case .monotonic: time = .current()
        case .manual(let start): time = start
        }
        wakeDescriptor = CLinux_eventfd()
        precondition(wakeDescriptor >= 0, "event loop \(name): eventfd failed: \(SystemError.current)")
        // NOLOCK: the base is touched by its own thread only, other threads wake it through the eventfd.
        guard let config = unsafe event_config_new() else { fatalError("event loop \(name): out of memory") }
        unsafe event_config_set_flag(config, CInt(EVENT_BASE_FLAG_NOLOCK.rawValue))
        guard let base = unsafe event_base_new_with_config(config) else {
            fatalError("event loop \(name): libevent offers no way to wait for events on this system")
        }
        unsafe event_config_free(config)
        unsafe self.base = base
        thread = NamedThread(named: name) { self.run() }
    }

    deinit {
        close(wakeDescriptor)
    }

    // MARK: Any thread

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

    /// Runs `work` on the loop, after what was enqueued before it.
    package func execute(_ work: @escaping @Sendable () -> Void) {
        submit(.closure(work))
    }

    /// Runs `work` on the loop if it still runs. For the end of something that could not be stopped and that nobody
    /// waits for any more once the loop has gone.
    package func executeUnlessStopped(_ work: @escaping @Sendable () -> Void) {
        _ = offer(.closure(work))
    }

    /// Runs what is still queued, ends the thread and returns. Watches and timers that are left do not fire again.
    package func shutDown() async {
        precondition(!isOnLoop, "event loop \(name) cannot wait for its own end")
        await withCheckedContinuation { continuation in
            execute {
                self.stopRequested = true
                self.stopped.append { continuation.resume() }
            }
        }
        thread?.join()
    }

    private func submit(_ job: Job) {
        // Not `precondition`: what it would say in the other case takes hold of the loop in this one.
        guard offer(job) else { preconditionFailure("event loop \(name) has stopped, but work was enqueued on it") }
    }

    /// False when the loop has stopped.
    ///
    /// The runtime holds no reference to the executor that it calls. Once the job can be seen it may run, and be the last
    /// before the end: from then on the loop may be gone, and nothing of it is touched but by a caller that `stopNow`
    /// waits for.
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
        // EAGAIN means that the counter is full: the loop is as awake as it can be.
        unsafe _ = write(wakeDescriptor, &one, 8)
    }

    // MARK: On the loop: time and timers

    /// The time of this tick.
    package var now: MonotonicTime {
        assertOnLoop()
        // The loop has waited since the last reading, and libevent calls handlers before it returns.
        if !timeIsRead { readTime() }
        return time
    }

    /// Ticks so far: a measure of how often the loop turned, for tests and metrics.
    package var tickCount: UInt64 {
        assertOnLoop()
        return ticks
    }

    /// Runs `action` once, at the first tick after `delay`. On the loop.
    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerID {
        schedule(at: now + delay, action)
    }

    /// Runs `action` once, at the first tick that is not before `deadline`. On the loop.
    @discardableResult
    package func schedule(at deadline: MonotonicTime, _ action: @escaping () -> Void) -> TimerID {
        assertOnLoop()
        return timers.add(.once(action), at: deadline)
    }

    /// Runs `action` every `interval` until the handle is cancelled. Ticks that were missed are not made up for.
    package func scheduleRepeating(every interval: Duration, _ action: @escaping () -> Void) -> TimerHandle {
        assertOnLoop()
        precondition(interval > .zero, "a repeating timer needs an interval above zero")
        let handle = TimerHandle()
        handle.id = timers.add(.every(interval, handle, action), at: now + interval)
        return handle
    }

    /// False if the timer has fired or was cancelled before. On the loop.
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

    /// Moves a timer that has not fired yet, without building its action again. On the loop.
    @discardableResult
    package func reschedule(_ id: TimerID, at deadline: MonotonicTime) -> Bool {
        assertOnLoop()
        return timers.move(id, to: deadline)
    }

    /// Turns the hands of a manual clock: each timer fires at its own time, with jobs and flushes between them.
    package func advance(by duration: Duration) async {
        guard case .manual = clock else { preconditionFailure("event loop \(name) runs on the machine's clock") }
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

    // MARK: On the loop: the tick's end

    /// Has `flusher` called once at the end of this tick, so that what gathers until then goes out together.
    /// The caller sees to it that it asks once a tick.
    package func flushAtTickEnd(_ flusher: any TickEndFlushing) {
        assertOnLoop()
        flushes.append(flusher)
    }

    // MARK: On the loop: for the other files of this target

    /// The libevent base, for what stands on libevent itself (watches, signals, the HTTP/1.1 server).
    package var eventBase: OpaquePointer {
        assertOnLoop()
        return unsafe base
    }

    package func assertOnLoop() {
        precondition(isOnLoop, "to be called on event loop \(name) only")
    }

    // MARK: The thread

    private func run() {
        threadID.store(UInt(pthread_self()), ordering: .relaxed)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // Both events live as long as the thread, and the thread holds the loop.
        unsafe wakeEvent = event_new(
            base, wakeDescriptor, Int16(EV_READ | EV_PERSIST),
            { _, _, context in unsafe Unmanaged<EventLoop>.fromOpaque(context!).takeUnretainedValue().takeIncoming() },
            context)
        unsafe event_add(wakeEvent, nil)
        unsafe timerEvent = event_new(
            base, -1, 0,
            { _, _, context in
                // Fired, so armed no more. libevent reads a coarse clock and may be some milliseconds early: the
                // deadline is then waited for once more.
                unsafe Unmanaged<EventLoop>.fromOpaque(context!).takeUnretainedValue().armedDeadline = nil
            }, context)

        while true {
            runJobsAndFlushes()
            if stopRequested, stopNow() { break }
            armTimer()
            let isBusy = !local.isEmpty || !flushes.isEmpty
            timeIsRead = false
            // ONCE in both cases: NONBLOCK alone does not return while any descriptor stays ready, and a descriptor
            // may wait for the very flush that comes after it.
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

    /// Closes the door to other threads, unless something came in at the last moment.
    private func stopNow() -> Bool {
        takeIncoming()
        guard local.isEmpty else { return false }
        let isStopped = incoming.withLock { state in
            guard state.jobs.isEmpty else { return false }
            state.isStopped = true
            return true
        }
        // Whoever is still on the way out of `offer`: after that the loop may be freed. Others do not come in any more.
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

    /// Jobs may enqueue jobs. After this many the loop looks at its descriptors first, so that neither starves.
    private static let jobsPerTick = 4096

    private func runJobsAndFlushes() {
        var left = Self.jobsPerTick
        while left > 0, let job = local.popFirst() {
            left -= 1
            switch job {
            case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
            case .closure(let work): work()
            }
        }
        if !flushes.isEmpty {
            swap(&flushes, &flushing)
            for flusher in flushing {
                flusher.flushAtTickEnd()
            }
            flushing.removeAll(keepingCapacity: true)
        }
    }

    /// What a flush enqueues runs before a manual clock goes on. Where jobs bring forth jobs without end, it goes on all
    /// the same.
    private func runUntilQuiet() {
        for _ in 0..<1000 {
            runJobsAndFlushes()
            if local.isEmpty, flushes.isEmpty { return }
        }
    }

    private func fireDueTimers() {
        // A timer that is set while timers fire waits for the next tick, or an action that sets a timer of
        // zero length would hold the loop for ever.
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
        // Rounded up: an early wake-up would find nothing due and turn the loop once more for nothing.
        let microseconds = (wait + 999) / 1000
        var interval = timeval(tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
        unsafe event_add(timerEvent, &interval)
    }
}

/// What a repeating timer is cancelled with. Confined to its loop.
package final class TimerHandle {
    fileprivate(set) var id: TimerID?
}

/// Something that gathers output during a tick and sends it at the tick's end.
package protocol TickEndFlushing: AnyObject {
    func flushAtTickEnd()
}
