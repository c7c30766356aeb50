import Glibc

/// A value behind a lock: what `Synchronization.Mutex` is, but over the mutex of the C library.
///
/// ThreadSanitizer knows that one. It cannot see into `Mutex`, which on Linux is a futex in a library that is not
/// instrumented, and takes each value behind it for a race; a sanitizer that cries wolf finds no wolves.
@safe
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    // Unchecked: `value` is touched under `lock` only.
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
