import PushLoop
import PushModel

/// Long searches: some run at the same time, some wait, and further ones are refused. A search whose
/// client has gone leaves the queue.
package final class SearchQueue: Sendable {
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

    /// Returns the queue of searches for names in a log; nil for a log that has an index of names. The log of a cluster has
    /// none: each search reads a part of it, and one for an id that no message has reads all parts.
    static func ofNames(in log: any EventLog) -> SearchQueue? {
        log.partCount > 1 ? SearchQueue(4, maxWaiting: 64) : nil
    }

    /// Runs a search when it is its turn.
    ///
    /// - Throws: ``Problem`` with the code `unavailable` if too many searches wait, and `CancellationError` if the task
    ///   is cancelled before its turn.
    package func run<Result>(_ body: () async throws -> Result) async throws -> Result {
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

extension SearchQueue? {
    /// Runs a search when it is its turn, or at once without a queue.
    func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard let self else { return try await body() }
        return try await self.run(body)
    }
}
