import Glibc

/// A value protected by a lock, like `Synchronization.Mutex`, but with a `pthread_mutex_t`.
///
/// ThreadSanitizer knows `pthread_mutex_t`. On Linux, `Mutex` is a futex in a library that is not instrumented, so the
/// sanitizer would report a false race for each protected value.
@safe
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    // Unchecked: `value` is accessed only while `lock` is held.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: consuming sending Value) {
        self.value = value
        unsafe lock = .allocate(capacity: 1)
        unsafe lock.initialize(to: pthread_mutex_t())
        let result = unsafe pthread_mutex_init(lock, nil)
        precondition(result == 0, "cannot make a lock: \(SystemError(number: result))")
    }

    deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe lock.deallocate()
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        return try body(&value)
    }
}
