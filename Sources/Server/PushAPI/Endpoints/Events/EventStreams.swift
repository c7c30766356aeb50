import PushLoop

/// The live streams of events of a server. Their number is bounded, and they end with the server.
package final class EventStreams: Sendable {
    /// The maximum number of streams. Each occupies a connection and a task.
    package static let limit = 64

    private struct State {
        /// The tasks of the streams. A stream that has just begun has none yet.
        var tasks: [UInt64: Task<Void, Never>?] = [:]
        var last: UInt64 = 0
        var quota = LongRequestQuota(limit: EventStreams.limit)
        var isEnding = false
    }

    private let state = Locked(State())

    package init() {}

    /// Runs a stream as a task.
    ///
    /// - Throws: ``Problem`` if there are as many streams as allowed, or if the server ends.
    func begin(
        for client: LongRequestQuota.Client, _ body: @escaping @Sendable () async -> Void
    ) throws(Problem) -> Task<Void, Never> {
        let id = try state.withLock { (state) throws(Problem) -> UInt64 in
            guard !state.isEnding else { throw Problem(.tooManyRequests, detail: "the server stops; try again later") }
            do throws(LongRequestQuota.Refusal) {
                try state.quota.take(client)
            } catch {
                throw error.problem("streams of events are open", of: state.quota)
            }
            state.last += 1
            state.tasks[state.last] = .some(nil)
            return state.last
        }
        let task = Task {
            await body()
            state.withLock { state in
                _ = state.tasks.removeValue(forKey: id)
                state.quota.release(client)
            }
        }
        let isEnding = state.withLock { state in
            // The task may have ended already.
            if state.tasks.keys.contains(id) { state.tasks[id] = .some(task) }
            return state.isEnding
        }
        if isEnding { task.cancel() }
        return task
    }

    /// Ends all streams, and begins no more.
    package func end() async {
        let tasks = state.withLock { state in
            state.isEnding = true
            return state.tasks.values.compactMap(\.self)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
