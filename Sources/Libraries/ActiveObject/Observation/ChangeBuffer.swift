import PushThread

/// The changes that wait for one observer, between the writer, which never waits, and the task that takes them.
///
/// The numbers of changes and of keys are limited. When a limit is exceeded, all waiting changes become one that
/// stands for unknown changes. Changes that come while that one waits are part of it.
final class ChangeBuffer<Element: ObservedChange>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var keyCount = 0
        var takers: [UInt64: CheckedContinuation<Element?, Never>] = [:]
        var lastTaker: UInt64 = 0
        var hasEnded = false
    }

    private let state = Locked(State())
    private let limit: Int
    private let keyLimit: Int

    init(limit: Int, keyLimit: Int) {
        self.limit = max(1, limit)
        self.keyLimit = keyLimit
    }

    func send(_ element: Element) {
        let taker = state.withLock { state -> CheckedContinuation<Element?, Never>? in
            guard !state.hasEnded else { return nil }
            if let first = state.takers.keys.min() { return state.takers.removeValue(forKey: first) }
            if let last = state.waiting.last, !last.isComplete { return nil }
            state.keyCount += element.keyCount
            if !element.isComplete || state.waiting.count == limit
                || (state.keyCount > keyLimit && !state.waiting.isEmpty)
            {
                state.waiting = [.unknown]
                state.keyCount = 0
            } else {
                state.waiting.append(element)
            }
            return nil
        }
        taker?.resume(returning: element)
    }

    /// Ends the buffer. Waiting changes are still returned, then nil.
    func end() {
        end(dropping: false)
    }

    private func end(dropping: Bool) {
        let takers = state.withLock { state in
            state.hasEnded = true
            if dropping { state.waiting = [] }
            defer { state.takers = [:] }
            return Array(state.takers.values)
        }
        for taker in takers { taker.resume(returning: nil) }
    }

    /// Returns the next change, or nil if the buffer has ended. Cancelling the task ends it.
    func next() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Element?? in
                    if !state.waiting.isEmpty {
                        let element = state.waiting.removeFirst()
                        state.keyCount -= element.keyCount
                        return element
                    }
                    if state.hasEnded { return .some(nil) }
                    state.lastTaker += 1
                    state.takers[state.lastTaker] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            end(dropping: true)
        }
    }
}
