import PushLoop

/// The events between the loop and the consumer. The loop stops receiving when it is full, and goes on when the consumer
/// has taken half of it.
final class EventBuffer: Sendable {
    private struct State {
        var deliveries: [SubscriberMachine.Delivery] = []
        var bytes = 0
        var isEnded = false
        var isFull = false
        var waiting: CheckedContinuation<Batch, Never>?
    }

    /// What the consumer takes at once.
    struct Batch: Sendable {
        var deliveries: [SubscriberMachine.Delivery] = []
        /// Whether nothing follows.
        var isEnd = false
        /// Whether the loop must be asked to go on.
        var resumes = false
    }

    private let state = Locked(State())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds deliveries. Returns false if the buffer is full: what follows must wait.
    func add(_ deliveries: [SubscriberMachine.Delivery]) -> Bool {
        let (waiting, batch, hasRoom) = state.withLock { state in
            if state.isEnded { return (nil as CheckedContinuation<Batch, Never>?, Batch(), true) }
            state.deliveries += deliveries
            state.bytes += deliveries.reduce(0) { $0 + Self.cost(of: $1) }
            guard !state.deliveries.isEmpty, let waiting = state.waiting.take() else {
                state.isFull = state.bytes >= limit
                return (nil, Batch(), !state.isFull)
            }
            return (waiting, Self.take(&state), true)
        }
        waiting?.resume(returning: batch)
        return hasRoom
    }

    /// The bytes that a delivery takes. While the consumer works on an event, each heartbeat brings a delivery without
    /// events.
    private static func cost(of delivery: SubscriberMachine.Delivery) -> Int {
        if case .lines(let lines, _) = delivery { lines.bytes.count + 64 } else { 64 }
    }

    /// Ends the stream after what is in the buffer.
    func end() {
        let waiting = state.withLock { state in
            state.isEnded = true
            return state.waiting.take()
        }
        waiting?.resume(returning: Batch(isEnd: true))
    }

    private static func take(_ state: inout State) -> Batch {
        let batch = Batch(deliveries: exchange(&state.deliveries, with: []), resumes: state.isFull)
        state.bytes = 0
        state.isFull = false
        return batch
    }

    /// Returns what there is, and waits if there is nothing. Returns an end when the task is cancelled.
    func next() async -> Batch {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let batch: Batch? = state.withLock { state in
                    if !state.deliveries.isEmpty { return Self.take(&state) }
                    if state.isEnded || Task.isCancelled { return Batch(isEnd: true) }
                    state.waiting = continuation
                    return nil
                }
                if let batch { continuation.resume(returning: batch) }
            }
        } onCancel: {
            let waiting = state.withLock { $0.waiting.take() }
            waiting?.resume(returning: Batch(isEnd: true))
        }
    }
}
