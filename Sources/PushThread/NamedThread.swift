private import CLinux
import Glibc

/// A thread of ours. It ends when its work does; whoever has to know that nothing of it is left waits with `join`.
///
/// "Its work has ended" is not enough at the end of a process: what a library keeps for each thread goes when the thread
/// goes, and `exit` takes the library down at the same time.
package final class NamedThread: @unchecked Sendable {
    // Unchecked: `thread` is written in `init` only, `isJoined` guards itself.
    private let thread: pthread_t
    private let isJoined = Locked(false)

    /// Starts it, with a name that tools show (at most 15 bytes of it).
    package init(named name: String, _ body: @escaping @Sendable () -> Void) {
        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                let start = unsafe Unmanaged<Start>.fromOpaque(context!).takeRetainedValue()
                unsafe _ = CLinux_name_thread(String(start.name.prefix(15)))
                start.body()
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

    /// Nobody waited for it: the system takes back what it holds when it ends.
    deinit {
        if isJoined.withLock({ !$0 }) { pthread_detach(thread) }
    }

    /// Blocks until the thread is gone. For the last moments of one whose work has ended; not from the thread itself.
    package func join() {
        precondition(pthread_equal(pthread_self(), thread) == 0, "a thread cannot wait for its own end")
        let isFirst = isJoined.withLock { isJoined in
            defer { isJoined = true }
            return !isJoined
        }
        if isFirst { _ = pthread_join(thread, nil) }
    }
}
