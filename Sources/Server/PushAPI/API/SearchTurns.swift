import PushLoop

/// The turns of long searches: some run at the same time, some wait, and further ones are refused. A search whose client
/// has gone leaves the queue.
package final class SearchTurns: Sendable {
    private struct State {
        var runningCount = 0
        var lastNumber: UInt64 = 0
        var waiting: [(number: UInt64, turn: CheckedContinuation<Void, any Error>)] = []
    }

    private let limit: Int
    private let maxWaiting: Int
    private let state = Locked(State())

    package init(_ limit: Int, maxWaiting: Int = 16) {
        self.limit = limit
        self.maxWaiting = maxWaiting
    }

    /// Runs a search when it is its turn.
    ///
    /// - Throws: ``Problem`` with the code `unavailable` if too many searches wait, and `CancellationError` if the task
    ///   is cancelled before its turn.
    package func take<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await begin()
        defer { end() }
        return try await body()
    }

    /// The number of searches that wait for their turn.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    private func begin() async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { turn in
                if let result = enter(number, turn) { turn.resume(with: result) }
            }
        } onCancel: {
            let turn = state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).turn }
            }
            turn?.resume(throwing: CancellationError())
        }
    }

    /// Returns the result of the attempt to begin; nil if the search waits.
    private func enter(
        _ number: UInt64, _ turn: CheckedContinuation<Void, any Error>
    ) -> Result<Void, any Error>? {
        state.withLock { state in
            // A task that is cancelled later finds its entry.
            if Task.isCancelled { return .failure(CancellationError()) }
            if state.runningCount < limit {
                state.runningCount += 1
                return .success(())
            }
            guard state.waiting.count < maxWaiting else {
                return .failure(Problem(.unavailable, detail: "too many searches are waiting; try again later"))
            }
            state.waiting.append((number, turn))
            return nil
        }
    }

    private func end() {
        let next: CheckedContinuation<Void, any Error>? = state.withLock { state in
            if state.waiting.isEmpty {
                state.runningCount -= 1
                return nil
            }
            return state.waiting.removeFirst().turn
        }
        next?.resume()
    }
}
