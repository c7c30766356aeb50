import PushThread
import Synchronization

/// Whether the call that runs on a connection has to stop, and why.
///
/// Asked before each step of a statement, at the price of one load. It is set for one call and cleared with it: whoever
/// cancels a call that is over stops nothing.
final class Interruption: Sendable {
    enum Reason: UInt8 {
        case none
        /// The task of the call was cancelled.
        case cancelled
        /// SQLite has undone the transaction by itself: what came now would be done outside of it.
        case undone
    }

    private struct Current {
        var call: ObjectIdentifier?
        var interrupter: Connection.Interrupter?
        var wasCancelled = false
    }

    private let reasonNumber = Atomic<UInt8>(0)
    private let current = Locked(Current())

    @inline(__always)
    var isRequested: Bool { reasonNumber.load(ordering: .relaxed) != 0 }

    var reason: Reason { Reason(rawValue: reasonNumber.load(ordering: .relaxed)) ?? .none }

    // MARK: The connection's thread

    func begin(_ call: ObjectIdentifier, _ interrupter: Connection.Interrupter) {
        current.withLock { current in
            current = Current(call: call, interrupter: interrupter)
            reasonNumber.store(0, ordering: .relaxed)
        }
    }

    /// From here on the call cannot be stopped: it commits or rolls back. Returns why it had to stop before.
    func disarm() -> Reason {
        current.withLock { current in
            current.call = nil
            return Reason(rawValue: reasonNumber.exchange(0, ordering: .relaxed)) ?? .none
        }
    }

    /// Returns whether the call was cancelled while it could be stopped.
    func end() -> Bool {
        current.withLock { current in
            defer { current = Current() }
            reasonNumber.store(0, ordering: .relaxed)
            return current.wasCancelled
        }
    }

    func noteUndone() {
        reasonNumber.store(Reason.undone.rawValue, ordering: .relaxed)
    }

    // MARK: Any thread

    /// Stops this call if it is the one that runs.
    func cancel(_ call: ObjectIdentifier) {
        current.withLock { current in
            guard current.call == call else { return }
            current.wasCancelled = true
            reasonNumber.store(Reason.cancelled.rawValue, ordering: .relaxed)
            // Under the lock: the connection cannot be closed, nor serve somebody else, before this returns.
            current.interrupter?.interrupt()
        }
    }
}
