private import CLinux
import Glibc

/// A named thread that ends when its work returns. ``join()`` waits until the thread itself has ended.
///
/// At the end of a process it is not enough to know that the work has returned: libraries free their thread-local data
/// when the thread ends, and `exit` tears the libraries down at the same time.
package final class NamedThread: @unchecked Sendable {
    // Unchecked: `thread` is written only in `init`, and `isJoined` has its own lock.
    private let thread: pthread_t
    private let isJoined = Locked(false)

    /// Starts the thread. Tools such as `top` show the first 15 bytes of `name`.
    package init(named name: String, body: @escaping @Sendable () -> Void) {
        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                let start = unsafe Unmanaged<Start>.fromOpaque(context!).takeRetainedValue()
                unsafe _ = CLinux_name_thread(String(start.name.prefix(15)))
                TrapReport.withSignalStack(start.body)
                return nil
            }, start.toOpaque())
        precondition(result == 0, "cannot start thread \(name): \(SystemError(number: result))")
        self.thread = thread
    }

    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Detaches the thread if it was not joined, so that the system frees its resources when it ends.
    deinit {
        if isJoined.withLock({ !$0 }) { pthread_detach(thread) }
    }

    /// Blocks until the thread has ended. Call it only when the work of the thread ends, and not from the thread
    /// itself.
    package func join() {
        precondition(pthread_equal(pthread_self(), thread) == 0, "a thread cannot join itself")
        let isFirst = isJoined.withLock { isJoined in
            defer { isJoined = true }
            return !isJoined
        }
        if isFirst { _ = pthread_join(thread, nil) }
    }
}
