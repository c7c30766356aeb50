import PushLoop
import PushTransport

/// Writes a streamed answer from a task, not faster than the client reads.
final class StreamWriter: Sendable {
    private struct State {
        var waiter: CheckedContinuation<Void, Never>?
        var hasDrained = false
        var isClosed = false
    }

    private let responder: LoopBound<HTTP1Responder>
    private let state = Locked(State())

    /// Creates a writer of an answer. On the loop.
    ///
    /// - Parameter onClose: called on the loop if the client disconnects.
    init(_ responder: HTTP1Responder, on loop: EventLoop, onClose: @escaping () -> Void) {
        self.responder = LoopBound(responder, on: loop)
        responder.onDrain = { [weak self] in self?.wake { $0.hasDrained = true } }
        responder.onClose = { [weak self] in
            self?.wake { $0.isClosed = true }
            onClose()
        }
    }

    /// Starts the answer. Returns false if the client has gone.
    func start(headers: HTTP1Headers) async -> Bool {
        await responder.with { (try? $0.start(status: 200, headers: headers)) != nil }
    }

    /// Sends a whole answer in place of a stream.
    func answer(_ answer: APIAnswer) async {
        await responder.with { answer.send(to: $0) }
    }

    /// Sends a chunk, and waits until there is room for the next one. Returns false if the client has gone.
    func send(_ chunk: [UInt8]) async -> Bool {
        while true {
            state.withLock { $0.hasDrained = false }
            switch await responder.with({ $0.send(chunk) }) {
            case .more: return true
            case .wait: return await waitForRoom()
            case .refused: guard await waitForRoom() else { return false }
            case .closed: return false
            }
        }
    }

    /// Ends the answer.
    func finish() async {
        // It throws if the client has gone.
        await responder.with { try? $0.finish() }
    }

    private func waitForRoom() async -> Bool {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.hasDrained || state.isClosed { return true }
                state.waiter = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
        return state.withLock { !$0.isClosed }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            return state.waiter.take()
        }
        waiter?.resume()
    }
}
