import PushLoop
package import PushModel

/// Passes committed events from the ledger to the registry, in order and outside of the ledger's thread.
///
/// When a part of the log is opened, and with its first segment, the follower reads it from the registry's position, so
/// that no earlier event is missed. It holds few segments: if the registry is slow or cannot write, the follower drops
/// them and reads them from the log later.
package final class RegistryFollower: Sendable {
    private struct State {
        var segments: [LogSegment] = []
        var events = 0
        /// The parts that this process carries out, and whether their log must be read.
        var behind: [Int: Bool] = [:]
        var isStopped = false
        var task: Task<Void, Never>?

        mutating func fallBehind() {
            segments = []
            events = 0
            for part in behind.keys { behind[part] = true }
        }
    }

    private static let eventLimit = 200_000
    private let registry: any RegistryEngine
    private let log: any EventLog
    private let retryAfter: Duration
    private let failed: @Sendable (any Error) -> Void
    private let state = Locked(State())

    /// - Parameter failed: called after each failed attempt. The next one follows after `retryAfter`.
    package init(
        _ registry: any RegistryEngine, log: any EventLog, retryAfter: Duration = .seconds(1),
        failed: @escaping @Sendable (any Error) -> Void
    ) {
        self.registry = registry
        self.log = log
        self.retryAfter = retryAfter
        self.failed = failed
    }

    /// Takes the next segments, in the order of their numbers within each part. It returns at once, and any thread may
    /// call it.
    package func committed(_ segments: [LogSegment]) {
        state.withLock { state in
            guard !state.isStopped else { return }
            for segment in segments {
                let part = EventNumber.part(of: segment.first)
                if state.behind[part] == false {
                    state.segments.append(segment)
                    state.events += segment.count
                    if state.events > Self.eventLimit { state.fallBehind() }
                } else {
                    state.behind[part] = true
                }
            }
            if state.task == nil { state.task = Task { await self.run() } }
        }
    }

    /// Reads the log of a part that this process carries out from now on: its former owner may have ended before it
    /// applied the last events.
    package func opened(_ part: PartitionID) {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.behind[part.number] = true
            if state.task == nil { state.task = Task { await self.run() } }
        }
    }

    /// Forgets a part that another process carries out from now on, and which reads its log.
    package func closed(_ part: PartitionID) {
        state.withLock { $0.behind[part.number] = nil }
    }

    /// Stops and waits for the running work. Events that are not applied are read from the log at the next start.
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
        case catchUp(Int)
    }

    private func run() async {
        while let work = next() {
            do {
                switch work {
                case .apply(let segments): try await registry.apply(segments)
                case .catchUp(let part): try await registry.catchUp(part: part, from: log)
                }
                await registry.publishOwed()
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
            let behind = state.behind.filter(\.value).keys.min()
            if state.isStopped || behind == nil && state.segments.isEmpty {
                state.task = nil
                return nil
            }
            if let behind {
                // Segments that are committed from now on are queued, and may be read twice.
                state.behind[behind] = false
                return .catchUp(behind)
            }
            defer {
                state.segments = []
                state.events = 0
            }
            return .apply(state.segments)
        }
    }
}
