import Dispatch
import PushThread

/// An event. Closures on a connection's thread can block for it, and tasks can await it.
final class Occasion: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let state = Locked((hasHappened: false, waiting: [CheckedContinuation<Void, Never>]()))

    func happen() {
        let waiting = state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        semaphore.signal()
        for continuation in waiting { continuation.resume() }
    }

    func block() {
        semaphore.wait()
        semaphore.signal()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let hasHappened = state.withLock { state in
                if !state.hasHappened { state.waiting.append(continuation) }
                return state.hasHappened
            }
            if hasHappened { continuation.resume() }
        }
    }
}
