import PushThread

/// One call's place in the queue of a connection. Who is cancelled while he waits is answered at once, and his work is
/// never begun.
final class Turn<Result: Sendable>: Sendable {
    private enum State {
        /// Can transition to: waiting, cancelled.
        case new
        /// In the queue. Can transition to: running, cancelled.
        case waiting(CheckedContinuation<Result, any Error>)
        /// The connection has it. It ends there.
        case running
        /// Nothing is to be done, and whoever waited has been told.
        case cancelled
    }

    private let state = Locked(State.new)

    /// False: it was cancelled before it could wait.
    func wait(_ continuation: CheckedContinuation<Result, any Error>) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Who waits for the result, which is now owed to him. Nil: nobody does any more.
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
