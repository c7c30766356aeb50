private import CLinux
import Glibc
import Synchronization

/// The connection from a signal handler, which may call almost nothing, to descriptors that a loop watches.
///
/// libevent's own signal events are not used: they support only one event base per process, and each loop has its own
/// base. The handler writes to the eventfd of its signal. The eventfds are created on first use and stay open until the
/// process ends, so that a running handler never writes to a descriptor that was closed and reused.
@safe
enum SignalTable {
    /// The descriptors by signal number, or -1 if not created yet. The table is never moved or freed because a handler
    /// may read it at any time. The elements are atomic.
    private nonisolated(unsafe) static let descriptors: UnsafeMutablePointer<Atomic<CInt>> = {
        let count = Int(Signal.maxNumber) + 1
        let table = UnsafeMutablePointer<Atomic<CInt>>.allocate(capacity: count)
        for index in 0..<count {
            unsafe (table + index).initialize(to: Atomic(-1))
        }
        return unsafe table
    }()

    /// The former actions of the signals that are taken.
    private static let former = Locked<[Signal: FormerAction]>([:])

    private struct FormerAction: @unchecked Sendable {
        // Unchecked: a C struct of plain values that is only stored and passed back.
        let action: sigaction
    }

    /// Installs the handler for the signal and returns the descriptor.
    static func take(_ signal: Signal) -> CInt {
        former.withLock { former in
            precondition(
                former[signal] == nil, "\(signal) already has a source; a process can have only one source per signal")
            let descriptor = descriptor(of: signal)
            // Discard the signals that arrived after the last source was cancelled.
            var count: UInt64 = 0
            unsafe _ = read(descriptor, &count, 8)
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { SignalTable.arrived($0) }
            action.sa_flags = SA_RESTART
            var old = sigaction()
            let result = unsafe sigaction(signal.number, &action, &old)
            precondition(result == 0, "cannot install a handler for \(signal): \(SystemError.current)")
            former[signal] = FormerAction(action: old)
            return descriptor
        }
    }

    /// Restores the former action of the signal.
    static func giveBack(_ signal: Signal) {
        former.withLock { former in
            guard let old = former.removeValue(forKey: signal) else { return }
            var action = old.action
            let result = unsafe sigaction(signal.number, &action, nil)
            precondition(result == 0, "cannot restore the former action of \(signal): \(SystemError.current)")
        }
    }

    private static func descriptor(of signal: Signal) -> CInt {
        let known = unsafe descriptors[Int(signal.number)].load(ordering: .relaxed)
        if known >= 0 { return known }
        let descriptor = CLinux_eventfd()
        precondition(descriptor >= 0, "cannot install a handler for \(signal): eventfd failed: \(SystemError.current)")
        unsafe descriptors[Int(signal.number)].store(descriptor, ordering: .releasing)
        return descriptor
    }

    /// Runs inside the signal handler, on any thread, between any two instructions. It may only do an atomic load and a
    /// `write`. `take` creates the table before it installs the handler.
    private static func arrived(_ number: CInt) {
        let saved = errno
        var one: UInt64 = 1
        unsafe _ = write(descriptors[Int(number)].load(ordering: .acquiring), &one, 8)
        errno = saved
    }
}
