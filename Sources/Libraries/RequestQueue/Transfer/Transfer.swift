import Foundation

/// One attempt of a request while it is under way: the meeting point of the network, which reports what happened, and
/// the queue, which waits for the end.
///
/// The network reports from one queue at a time. The end is reported once.
final class Transfer: Sendable {
    /// The end of a transfer.
    enum Outcome: Sendable {
        case answered(ResponseHead, body: Data)
        case failed(QueueMachine.Failure)
    }

    private struct State {
        var head: ResponseHead?
        var progress: TransferProgress
        var heard: ContinuousClock.Instant
        var failure: SinkFailure?
        var hasEnded = false
        var hasBegun = false
        var cancel: (@Sendable () -> Void)?
        var isCancelled = false
    }

    let body: BodyPlan
    let url: URL
    private let method: HTTPMethod
    private let sink: any BodySink
    private let progressed: @Sendable (TransferProgress) -> Void
    private let ended: @Sendable (Outcome) -> Void
    private let state: Locked<State>
    private let bodyFailure = Locked<RequestError?>(nil)

    init(
        url: URL, method: HTTPMethod, body: BodyPlan, sink: any BodySink, attempt: Int,
        progressed: @escaping @Sendable (TransferProgress) -> Void, ended: @escaping @Sendable (Outcome) -> Void
    ) {
        self.url = url
        self.method = method
        self.body = body
        self.sink = sink
        self.progressed = progressed
        self.ended = ended
        state = Locked(
            State(
                progress: TransferProgress(toSend: body.count, received: sink.startCount, attempt: attempt),
                heard: .now))
    }

    /// The time at which data moved last.
    var heard: ContinuousClock.Instant { state.withLock { $0.heard } }

    /// Returns a stream from the start of the body.
    func makeStream() -> InputStream? {
        guard body.count > 0 else { return nil }
        state.withLock { $0.progress.sent = 0 }
        #if canImport(FoundationNetworking)
        return BodyStream(BodyReader(body, failure: bodyFailure))
        #else
        return BodyPump.makeStream(body, failure: bodyFailure)
        #endif
    }

    /// Sets the function that ends the transfer, and calls it if the transfer was cancelled before.
    func began(cancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.cancel = cancel
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }

    /// Ends the transfer. The network reports the end. The sink is free at once for another transfer.
    func cancel() {
        let cancel = state.withLock { state in
            state.isCancelled = true
            return state.cancel
        }
        _ = try? sink.end(isComplete: false)
        cancel?()
    }

    /// Takes the number of bytes of the body that were sent so far.
    func sent(_ count: Int64) {
        report { $0.progress.sent = count }
    }

    /// Takes the head of the response. A later head replaces an interim one.
    func received(_ head: ResponseHead) {
        guard head.status >= 200 else { return report { _ in } }
        let isFirst = state.withLock { state in
            guard !state.hasBegun, !state.hasEnded, !state.isCancelled else { return false }
            state.hasBegun = true
            state.head = head
            return true
        }
        guard isFirst else { return }
        do {
            // The answer to HEAD announces a body that does not come.
            if method != .head { try sink.begin(head) }
            report {
                $0.progress.received = sink.startCount
                $0.progress.toReceive = head.contentLength.map { $0 &+ sink.startCount }
            }
        } catch {
            stop(error)
        }
    }

    /// Takes a piece of the body.
    func received(_ data: Data) {
        guard state.withLock({ $0.failure == nil && $0.hasBegun && !$0.hasEnded && !$0.isCancelled }) else { return }
        do {
            try sink.write(data)
            report { $0.progress.received += Int64(data.count) }
        } catch {
            stop(error)
        }
    }

    /// Takes the end of the transfer; `failure` is nil if it was complete.
    func end(_ failure: QueueMachine.Failure?) {
        let (isFirst, state) = state.withLock { state in
            defer { state.hasEnded = true }
            return (!state.hasEnded, state)
        }
        guard isFirst else { return }
        var reason = state.failure.map { QueueMachine.Failure(kind: $0.kind, error: $0.error) }
        if failure != nil, let problem = bodyFailure.withLock({ $0 }) {
            reason = reason ?? QueueMachine.Failure(kind: .final, error: problem)
        }
        reason = reason ?? failure
        if reason?.kind == .unsent && (state.progress.sent > 0 || body.count == 0) { reason?.kind = .network }
        let isComplete = reason == nil && !state.isCancelled
        do {
            let data = try sink.end(isComplete: isComplete)
            if let reason {
                ended(.failed(reason))
            } else if let head = state.head {
                ended(.answered(head, body: data))
            } else {
                let error = RequestError(
                    .connectionLost, message: "the connection to \(url.plain) ended without an answer")
                ended(.failed(QueueMachine.Failure(kind: .network, error: error)))
            }
        } catch {
            ended(.failed(reason ?? QueueMachine.Failure(kind: error.kind, error: error.error)))
        }
    }

    private func stop(_ failure: SinkFailure) {
        state.withLock { $0.failure = $0.failure ?? failure }
        cancel()
    }

    private func report(_ change: (inout State) -> Void) {
        let progress = state.withLock { state in
            change(&state)
            state.heard = .now
            return state.progress
        }
        progressed(progress)
    }
}
