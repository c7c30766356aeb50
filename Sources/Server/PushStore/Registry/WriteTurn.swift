import PushLoop

/// A lock that transactions hold until their changes are in memory. Memory therefore changes in the same order as the
/// file.
final class WriteTurn: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// The index of the next waiter. Earlier entries were already resumed.
        var next = 0
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// Throws `busy` if too many callers wait.
    func mustHaveRoom() throws(RegistryError) {
        let mayWait = state.withLock { $0.waiting.count - $0.next < limit }
        guard mayWait else { throw Self.busy(limit) }
    }

    static func busy(_ limit: Int) -> RegistryError {
        RegistryError(.busy, "registry busy: \(limit) calls wait to write; try again later")
    }

    func take<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        await begin()
        defer { end() }
        return try await body()
    }

    private func begin() async {
        await withCheckedContinuation { continuation in
            let isMine = state.withLock { state in
                if state.isTaken {
                    state.waiting.append(continuation)
                    return false
                }
                state.isTaken = true
                return true
            }
            if isMine { continuation.resume() }
        }
    }

    private func end() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.next < state.waiting.count else {
                state.waiting = []
                state.next = 0
                state.isTaken = false
                return nil
            }
            let next = state.waiting[state.next]
            state.next += 1
            if state.next >= 64, state.next * 2 >= state.waiting.count {
                state.waiting.removeFirst(state.next)
                state.next = 0
            }
            return next
        }
        next?.resume()
    }
}
