import PushThread

/// The turn of one call in the queue of a connection. A call that is cancelled while it waits returns at once, and its
/// closure never runs.
final class Turn<Result: Sendable>: Sendable {
    private enum State {
        /// Can transition to: waiting, cancelled.
        case new
        /// The call is in the queue. Can transition to: running, cancelled.
        case waiting(CheckedContinuation<Result, any Error>)
        /// The connection runs the call. This state is final.
        case running
        /// The call does not run, and its caller has been resumed. This state is final.
        case cancelled
    }

    private let state = Locked(State.new)

    /// Returns false if the call was cancelled before it could wait.
    func wait(_ continuation: CheckedContinuation<Result, any Error>) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Returns the continuation of the waiting caller, which must be resumed; nil if the call was cancelled.
    func begin() -> CheckedContinuation<Result, any Error>? {
        state.withLock { state in
            guard case .waiting(let continuation) = state else { return nil }
            state = .running
            return continuation
        }
    }

    func cancel() {
        let continuation: CheckedContinuation<Result, any Error>? = state.withLock { state in
            switch state {
            case .new, .cancelled:
                state = .cancelled
                return nil
            case .waiting(let continuation):
                state = .cancelled
                return continuation
            case .running: return nil
            }
        }
        continuation?.resume(throwing: CancellationError())
    }
}
