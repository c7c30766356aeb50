import PushLoop

/// The part of reloads that reads files: credentials and certificates, which may be on a file system that hangs.
///
/// One runs at a time. Of those that come meanwhile only the last is applied, with the changes of all of them counted.
final class FileReloads: Sendable {
    private struct State {
        var next: (configuration: Configuration, changes: Int)?
        var isRunning = false
    }

    private let state = Locked(State())
    private let apply: @Sendable (Configuration, _ changes: Int) async -> Void

    init(apply: @escaping @Sendable (Configuration, _ changes: Int) async -> Void) {
        self.apply = apply
    }

    /// Returns at once.
    func add(_ configuration: Configuration, changes: Int) {
        let isFirst = state.withLock { state in
            state.next = (configuration, (state.next?.changes ?? 0) + changes)
            return !exchange(&state.isRunning, with: true)
        }
        if isFirst { Task { await run() } }
    }

    private func run() async {
        while let (configuration, changes) = takeNext() { await apply(configuration, changes) }
    }

    private func takeNext() -> (configuration: Configuration, changes: Int)? {
        state.withLock { state in
            let next = state.next.take()
            if next == nil { state.isRunning = false }
            return next
        }
    }
}
