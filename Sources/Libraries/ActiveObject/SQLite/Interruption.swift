import PushSQLite
import PushThread
import Synchronization

/// Whether the call that runs on a connection must stop, and why.
///
/// Statements check it before each step, which costs one load. It is valid for one call and cleared with it, so
/// cancelling a call that has ended stops nothing.
final class Interruption: Sendable {
    enum Reason: UInt8 {
        case none
        /// The task of the call was cancelled.
        case cancelled
        /// SQLite has rolled back the transaction on its own. Further statements would run outside of it.
        case rolledBack
    }

    private struct Current {
        var call: ObjectIdentifier?
        var interrupter: DatabaseHandle.Interrupter?
        var wasCancelled = false
    }

    private let reasonNumber = Atomic<UInt8>(0)
    private let current = Locked(Current())

    @inline(__always)
    var isRequested: Bool { reasonNumber.load(ordering: .relaxed) != 0 }

    var reason: Reason { Reason(rawValue: reasonNumber.load(ordering: .relaxed)) ?? .none }

    // MARK: On the connection's thread

    func begin(_ call: ObjectIdentifier, interrupter: DatabaseHandle.Interrupter) {
        current.withLock { current in
            current = Current(call: call, interrupter: interrupter)
            reasonNumber.store(0, ordering: .relaxed)
        }
    }

    /// Makes the call uninterruptible, because it commits or rolls back now. Returns why it had to stop before.
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

    func recordRollback() {
        reasonNumber.store(Reason.rolledBack.rawValue, ordering: .relaxed)
    }

    // MARK: On any thread

    /// Stops the call if it is the one that runs.
    func cancel(_ call: ObjectIdentifier) {
        current.withLock { current in
            guard current.call == call else { return }
            current.wasCancelled = true
            reasonNumber.store(Reason.cancelled.rawValue, ordering: .relaxed)
            // This runs under the lock, so that the connection is not closed and does not run another call meanwhile.
            current.interrupter?.interrupt()
        }
    }
}
