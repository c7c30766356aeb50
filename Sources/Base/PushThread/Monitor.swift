import Glibc

/// A value protected by a lock and a condition variable, for threads that may block. `Mutex` has no condition variable.
@safe
package final class Monitor<State>: @unchecked Sendable {
    // Unchecked: `state` is accessed only while `lock` is held.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    package init(_ state: State) {
        self.state = state
        unsafe lock = .allocate(capacity: 1)
        unsafe changed = .allocate(capacity: 1)
        unsafe lock.initialize(to: pthread_mutex_t())
        unsafe changed.initialize(to: pthread_cond_t())
        let results = unsafe (pthread_mutex_init(lock, nil), pthread_cond_init(changed, nil))
        precondition(results == (0, 0), "cannot make a monitor: \(results)")
    }

    deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe pthread_cond_destroy(changed)
        unsafe lock.deallocate()
        unsafe changed.deallocate()
    }

    package func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        return body(&state)
    }

    /// Calls `body` with a closure that wakes one waiting thread. The monitor is not accessed after the lock is
    /// released, so another thread may free it from then on.
    package func withLock<Result>(_ body: (inout State, _ wakeOne: () -> Void) -> Result) -> Result {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        return body(&state) { unsafe pthread_cond_signal(changed) }
    }

    /// Waits until `body` returns a value. `body` is called at once and after each wake-up.
    package func wait<Result>(for body: (inout State) -> Result?) -> Result {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        while true {
            if let result = body(&state) { return result }
            unsafe pthread_cond_wait(changed, lock)
        }
    }

    package func wakeOne() {
        unsafe pthread_cond_signal(changed)
    }

    package func wakeAll() {
        unsafe pthread_cond_broadcast(changed)
    }
}
