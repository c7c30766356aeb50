import PushLoop
import PushModel

/// Long searches: some run at the same time, some wait, and further ones are refused. A key and an address have a share
/// of both, and keys take turns, so that the searches of one client do not hold up others. A search whose client has gone
/// leaves the queue.
package final class SearchQueue: Sendable {
    typealias Client = LongRequestQuota.Client

    /// The place of a search that runs. It is held until the answer is given to the connection, which counts what its
    /// client has not read.
    final class Place: Sendable {
        private let queue: SearchQueue
        private let client: Client
        private let isHeld = Locked(true)

        fileprivate init(_ queue: SearchQueue, _ client: Client) {
            self.queue = queue
            self.client = client
        }

        /// Frees the place for the next search. Later calls do nothing.
        func leave() {
            if isHeld.withLock({ exchange(&$0, with: false) }) { queue.end(client) }
        }
    }

    private struct Waiting {
        let number: UInt64
        let client: Client
        /// The turn of its key that it waits for.
        let round: UInt64
        let begin: CheckedContinuation<Void, any Error>
    }

    private struct State {
        /// The places of those that run, and of all.
        var running: LongRequestQuota
        var all: LongRequestQuota
        var lastNumber: UInt64 = 0
        var waiting: [Waiting] = []
        /// The round of the last search that had to wait for its turn.
        var round: UInt64 = 0

        /// Returns the round of a new search of a key: each key has one turn in each.
        func round(of client: Client) -> UInt64 {
            max(round, waiting.last { $0.client.key == client.key }?.round ?? 0) + 1
        }

        /// Removes and returns the search that runs next; nil if none may.
        mutating func next() -> Waiting? {
            let ready = waiting.indices.filter { running.refusal(of: waiting[$0].client) == nil }
            guard let index = ready.min(by: { waiting[$0].round < waiting[$1].round }) else { return nil }
            let next = waiting.remove(at: index)
            round = max(round, next.round)
            running.add(next.client)
            return next
        }
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - running: the number of searches that run at the same time.
    ///   - limit: the number of those that run and wait.
    package init(_ running: Int, of limit: Int = 64) {
        state = Locked(State(running: LongRequestQuota(limit: running), all: LongRequestQuota(limit: limit)))
    }

    /// Returns a place when it is the turn of a search.
    ///
    /// - Throws: ``Problem`` with the code `too_many_requests` if too many searches run and wait, and `CancellationError`
    ///   if the task is cancelled before its turn.
    func enter(for client: Client) async throws -> Place {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { begin in
                if let result = enter(number, of: client, with: begin) { begin.resume(with: result) }
            }
        } onCancel: {
            let left = state.withLock { state -> Waiting? in
                guard let index = state.waiting.firstIndex(where: { $0.number == number }) else { return nil }
                state.all.release(client)
                return state.waiting.remove(at: index)
            }
            left?.begin.resume(throwing: CancellationError())
        }
        return Place(self, client)
    }

    /// The number of searches that wait for their turn.
    var waitingCount: Int { state.withLock { $0.waiting.count } }
    /// The number of searches that run.
    var runningCount: Int { state.withLock { $0.running.count } }

    /// Returns the result of the attempt to begin; nil if the search waits.
    private func enter(
        _ number: UInt64, of client: Client, with begin: CheckedContinuation<Void, any Error>
    ) -> Result<Void, any Error>? {
        state.withLock { state in
            // A task that is cancelled later finds its entry.
            if Task.isCancelled { return .failure(CancellationError()) }
            if let refusal = state.all.refusal(of: client) {
                return .failure(refusal.problem("searches run or wait", of: state.all))
            }
            state.all.add(client)
            if state.running.refusal(of: client) == nil {
                state.running.add(client)
                return .success(())
            }
            state.waiting.append(
                Waiting(number: number, client: client, round: state.round(of: client), begin: begin))
            return nil
        }
    }

    private func end(_ client: Client) {
        let begun = state.withLock { state in
            state.running.release(client)
            state.all.release(client)
            var begun: [Waiting] = []
            // The place may have been the last one of a key and of an address, for which different searches wait.
            while let next = state.next() { begun.append(next) }
            return begun
        }
        for search in begun { search.begin.resume() }
    }
}
