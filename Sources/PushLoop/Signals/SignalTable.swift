private import CLinux
import Glibc
import Synchronization

/// The way from a signal handler, where next to nothing may be called, to a descriptor that a loop watches.
///
/// libevent's own signal events are left alone: they belong to one event base of the process at a time, and each loop
/// has a base. The handler writes to the eventfd of its signal; the eventfds are made on first use and stay for the
/// life of the process, so that a handler that is just running never writes to a descriptor that is something else
/// by now.
@safe
enum SignalTable {
    /// By signal number; -1 where no descriptor was made yet. Never moved, never freed: a handler may look at it at any
    /// time. The elements guard themselves.
    private nonisolated(unsafe) static let descriptors: UnsafeMutablePointer<Atomic<CInt>> = {
        let count = Int(Signal.highest) + 1
        let table = UnsafeMutablePointer<Atomic<CInt>>.allocate(capacity: count)
        for index in 0..<count {
            unsafe (table + index).initialize(to: Atomic(-1))
        }
        return unsafe table
    }()

    /// What each signal that is taken did before.
    private static let former = Locked<[Signal: FormerAction]>([:])

    private struct FormerAction: @unchecked Sendable {
        // Unchecked: a C struct of plain values, kept to be handed back.
        let action: sigaction
    }

    /// Takes the signal over and returns its descriptor.
    static func take(_ signal: Signal) -> CInt {
        former.withLock { former in
            precondition(
                former[signal] == nil, "\(signal) has a source already; a signal has one owner in a process")
            let descriptor = descriptor(of: signal)
            // What came in after the last owner went is not for this one.
            var count: UInt64 = 0
            unsafe _ = read(descriptor, &count, 8)
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { SignalTable.arrived($0) }
            action.sa_flags = SA_RESTART
            var old = sigaction()
            let result = unsafe sigaction(signal.number, &action, &old)
            precondition(result == 0, "cannot take \(signal): \(SystemError.current)")
            former[signal] = FormerAction(action: old)
            return descriptor
        }
    }

    /// Gives the signal back to what it did before.
    static func giveBack(_ signal: Signal) {
        former.withLock { former in
            guard let old = former.removeValue(forKey: signal) else { return }
            var action = old.action
            let result = unsafe sigaction(signal.number, &action, nil)
            precondition(result == 0, "cannot give \(signal) back: \(SystemError.current)")
        }
    }

    private static func descriptor(of signal: Signal) -> CInt {
        let known = unsafe descriptors[Int(signal.number)].load(ordering: .relaxed)
        if known >= 0 { return known }
        let descriptor = CLinux_eventfd()
        precondition(descriptor >= 0, "cannot take \(signal): eventfd failed: \(SystemError.current)")
        unsafe descriptors[Int(signal.number)].store(descriptor, ordering: .releasing)
        return descriptor
    }

    /// Runs inside the signal handler, on any thread, between any two instructions: an atomic load and a `write`. The
    /// table was made by `take` before the handler was set.
    private static func arrived(_ number: CInt) {
        let saved = errno
        var one: UInt64 = 1
        unsafe _ = write(descriptors[Int(number)].load(ordering: .acquiring), &one, 8)
        errno = saved
    }
}
