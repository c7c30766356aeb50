import PushLoop
package import PushModel

/// Hands the registry what the ledger has committed, in order and off the ledger's thread.
///
/// It begins with the log, at the first segment that it is told of, so that nothing from before is passed over. It holds
/// few segments: when the registry falls behind, or cannot write, they are dropped and read from the log when it is their
/// turn.
package final class RegistryFollower: Sendable {
    private struct State {
        var segments: [LogSegment] = []
        var events = 0
        var isBehind = true
        var isStopped = false
        var task: Task<Void, Never>?

        mutating func fallBehind() {
            segments = []
            events = 0
            isBehind = true
        }
    }

    private static let eventLimit = 200_000
    private let registry: Registry
    private let log: any EventLog
    private let retryAfter: Duration
    private let failed: @Sendable (any Error) -> Void
    private let state = Locked(State())

    /// - Parameter failed: told of each attempt that did not succeed; another follows after `retryAfter`.
    package init(
        _ registry: Registry, log: any EventLog, retryAfter: Duration = .seconds(1),
        failed: @escaping @Sendable (any Error) -> Void
    ) {
        self.registry = registry
        self.log = log
        self.retryAfter = retryAfter
        self.failed = failed
    }

    /// From any thread, in the order of the numbers. Returns at once.
    package func committed(_ segment: LogSegment) {
        state.withLock { state in
            guard !state.isStopped else { return }
            if !state.isBehind {
                state.segments.append(segment)
                state.events += segment.count
                if state.events > Self.eventLimit { state.fallBehind() }
            }
            if state.task == nil { state.task = Task { await self.run() } }
        }
    }

    /// Returns when nothing is under way any more. What was not applied is read from the log at the next start.
    package func stop() async {
        let task = state.withLock { state in
            state.isStopped = true
            state.segments = []
            return state.task
        }
        task?.cancel()
        await task?.value
    }

    private enum Work {
        case apply([LogSegment])
        case catchUp
    }

    private func run() async {
        while let work = next() {
            do {
                switch work {
                case .apply(let segments): try await registry.apply(segments)
                case .catchUp: try await registry.catchUp(from: log)
                }
            } catch {
                let isStopped = state.withLock { state in
                    state.fallBehind()
                    return state.isStopped
                }
                guard !isStopped else { continue }
                failed(error)
                try? await Task.sleep(for: retryAfter)
            }
        }
    }

    private func next() -> Work? {
        state.withLock { state in
            if state.isStopped || !state.isBehind && state.segments.isEmpty {
                state.task = nil
                return nil
            }
            if state.isBehind {
                // What is committed from now on comes by itself, perhaps twice.
                state.isBehind = false
                return .catchUp
            }
            defer {
                state.segments = []
                state.events = 0
            }
            return .apply(state.segments)
        }
    }
}
