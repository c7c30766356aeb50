import PushConfiguration
import PushLoop

/// The part of reloads that reads files: credentials and certificates, which may be on a file system that hangs.
///
/// One reload runs at a time. Of the reloads that are added meanwhile, only the last one is applied, with the sum of
/// their changes.
final class FileReloads: Sendable {
    private struct State {
        var next: (configuration: Configuration, changes: Int)?
        var isRunning = false
        var isStopped = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Locked(State())
    private let apply: @Sendable (Configuration, _ changes: Int) async -> Void

    init(apply: @escaping @Sendable (Configuration, _ changes: Int) async -> Void) {
        self.apply = apply
    }

    /// Adds a reload and returns at once. After ``stop(within:)`` it does nothing.
    func add(_ configuration: Configuration, changes: Int) {
        let isFirst = state.withLock { state in
            if state.isStopped { return false }
            state.next = (configuration, (state.next?.changes ?? 0) + changes)
            return !exchange(&state.isRunning, with: true)
        }
        if isFirst { Task { await run() } }
    }

    /// Drops reloads that have not begun, and returns when no reload runs or the time is over.
    ///
    /// - Returns: whether no reload runs. If one does, the event loops must not be shut down, because it will use them.
    func stop(within limit: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isStopped = true
                state.next = nil
                if state.isRunning { state.waiters.append(continuation) }
                return !state.isRunning
            }
            if isIdle { return continuation.resume(returning: true) }
            Task {
                try? await Task.sleep(for: limit)
                answerWaiters(false)
            }
        }
    }

    private func answerWaiters(_ isIdle: Bool) {
        for waiter in state.withLock({ exchange(&$0.waiters, with: []) }) { waiter.resume(returning: isIdle) }
    }

    private func run() async {
        while let (configuration, changes) = takeNext() { await apply(configuration, changes) }
        answerWaiters(true)
    }

    private func takeNext() -> (configuration: Configuration, changes: Int)? {
        state.withLock { state in
            let next = state.next.take()
            if next == nil { state.isRunning = false }
            return next
        }
    }
}
